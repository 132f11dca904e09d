#include "apps/bench/figures.hpp"

#include <algorithm>
#include <cstdio>

namespace penstock::apps::bench {

namespace {

constexpr double generator_cores_max = 0.9; // Two threads, but the client's is the bottleneck.

double ms_between(time_us from, time_us to) {
  return to > from ? static_cast<double>(to - from) / 1e3 : 0.0;
}

/// Samples of all requests, on the way to being sorted.
struct samples {
  std::vector<double> ttft;
  std::vector<double> itl;
  std::vector<double> tpot;
  std::vector<double> e2e;
  std::vector<double> late;
};

void add_completed(const request_record& r, const service_goal& goal, figures& out, samples& all) {
  ++out.completed;
  out.prompt_tokens += r.outcome.usage.prompt_tokens;
  out.cached_tokens += r.outcome.usage.cached_tokens;
  out.output_tokens += r.tokens.size();
  auto ttft = ms_between(r.due, r.tokens.front());
  all.ttft.push_back(ttft);
  all.e2e.push_back(ms_between(r.due, r.ended));
  auto gaps = gaps_ms(r);
  double longest = 0.0;
  double mean = 0.0;
  if (!gaps.empty()) {
    longest = *std::max_element(gaps.begin(), gaps.end());
    mean = ms_between(r.tokens.front(), r.tokens.back()) / static_cast<double>(gaps.size());
    all.itl.insert(all.itl.end(), gaps.begin(), gaps.end());
    all.tpot.push_back(mean);
  }
  bool good = (goal.ttft_ms <= 0.0 || ttft <= goal.ttft_ms)
              && (goal.itl_ms <= 0.0 || longest <= goal.itl_ms)
              && (goal.tpot_ms <= 0.0 || mean <= goal.tpot_ms);
  out.good += good ? 1 : 0;
}

} // namespace

std::vector<double> gaps_ms(const request_record& record) {
  std::vector<double> out;
  for (size_t i = 1; i < record.tokens.size(); ++i)
    out.push_back(ms_between(record.tokens[i - 1], record.tokens[i]));
  return out;
}

uint64_t figures::failed() const {
  uint64_t out = 0;
  for (const auto& [reason, failure] : failures)
    out += failure.count;
  return out;
}

std::string figures::generator_warning() const {
  char text[200];
  if (late_ms.at(0.99) > late_ms_max) {
    std::snprintf(text, sizeof text,
                  "requests were sent late (p99 %.1f ms, longest %.1f ms): the machine of this "
                  "command is too busy for this load",
                  late_ms.at(0.99), late_ms.max());
    return text;
  }
  if (generator_cores > generator_cores_max) {
    std::snprintf(text, sizeof text,
                  "this command took %.2f cores: the figures may be its own, not the server's",
                  generator_cores);
    return text;
  }
  return {};
}

figures figures_of(const load_result& result, const service_goal& goal) {
  figures out;
  samples all;
  time_us first = UINT64_MAX;
  time_us last = 0;
  for (const auto& r : result.records) {
    all.late.push_back(ms_between(r.due, r.sent));
    auto why = failure_of(r);
    if (!why.empty()) {
      auto& failure = out.failures[why];
      if (failure.count++ == 0)
        failure.detail = r.outcome.detail;
    }
    if (!r.counted) {
      ++out.warmup;
      continue;
    }
    ++out.requests;
    out.cut += r.cut ? 1 : 0;
    first = std::min(first, r.due);
    last = std::max(last, r.ended);
    if (why.empty())
      add_completed(r, goal, out, all);
  }
  out.window_s = last > first ? static_cast<double>(last - first) / 1e6 : 0.0;
  if (result.elapsed > 0)
    out.generator_cores = result.cpu_seconds * 1e6 / static_cast<double>(result.elapsed);
  out.ttft_ms = percentiles{std::move(all.ttft)};
  out.itl_ms = percentiles{std::move(all.itl)};
  out.tpot_ms = percentiles{std::move(all.tpot)};
  out.e2e_ms = percentiles{std::move(all.e2e)};
  out.late_ms = percentiles{std::move(all.late)};
  return out;
}

} // namespace penstock::apps::bench
