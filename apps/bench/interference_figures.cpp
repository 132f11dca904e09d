#include "apps/bench/interference_figures.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace penstock::apps::bench {

namespace {

constexpr double throughput_share_min = 0.9;

double p99_of(const arm_run& run) {
  return run.itl_ms.at(0.99);
}

double speed_of(const arm_run& run) {
  return run.tokens_per_s;
}

/// A request that was open when time was over is as it should be if it was cancelled, or ended by
/// itself meanwhile.
std::string failure_in(const request_record& r, time_us to) {
  bool cut = r.endings == 1 && r.ended >= to
             && (r.outcome.code == errc::cancelled || r.outcome.code == errc::ok);
  return cut ? std::string{} : failure_of(r);
}

} // namespace

arm_run measured(const load_result& result, time_us from, time_us to) {
  arm_run out;
  auto in_window = [from, to](time_us at) { return at >= from && at < to; };
  std::vector<double> gaps;
  std::vector<double> ttft;
  std::vector<double> late;
  uint64_t output = 0;
  uint64_t prompts = 0;
  for (const auto& r : result.records) {
    late.push_back(r.sent > r.due ? static_cast<double>(r.sent - r.due) / 1e3 : 0.0);
    if (auto why = failure_in(r, to); !why.empty())
      ++out.failures[why];
    for (size_t i = 0; i < r.tokens.size(); ++i) {
      if (!in_window(r.tokens[i]))
        continue;
      ++output;
      if (i > 0 && r.stream == victim_stream)
        gaps.push_back(static_cast<double>(r.tokens[i] - r.tokens[i - 1]) / 1e3);
    }
    if (r.tokens.empty() || !in_window(r.tokens.front()))
      continue;
    prompts += r.prompt_tokens;
    if (r.stream == long_stream)
      ttft.push_back(static_cast<double>(r.tokens.front() - r.due) / 1e3);
  }
  auto seconds = static_cast<double>(to - from) / 1e6;
  out.output_per_s = static_cast<double>(output) / seconds;
  out.tokens_per_s = static_cast<double>(output + prompts) / seconds;
  out.itl_ms = percentiles{std::move(gaps)};
  out.ttft_ms = percentiles{std::move(ttft)};
  out.late_ms_p99 = percentiles{std::move(late)}.at(0.99);
  return out;
}

over_rounds collect(const std::vector<arm_run>& runs, arm which, size_t ratio,
                    double (*figure)(const arm_run&)) {
  std::vector<double> out;
  for (const auto& run : runs)
    if (run.which == which && (which == arm::alone || run.ratio == ratio))
      out.push_back(figure(run));
  return {percentiles{std::move(out)}};
}

verdict judge(const std::vector<arm_run>& runs, size_t ratio) {
  auto null = collect(runs, arm::null, ratio, p99_of);
  auto split = collect(runs, arm::split, ratio, p99_of);
  auto colocated = collect(runs, arm::colocated, ratio, p99_of);
  auto alone = collect(runs, arm::alone, ratio, p99_of);
  verdict out;
  if (split.any() && alone.median() > 0.0)
    out.split_over_alone = split.median() / alone.median();
  out.undisturbed_judged = null.any() && split.any() && null.median() > 0.0;
  if (out.undisturbed_judged) {
    out.split_over_null = split.median() / null.median();
    out.null_limit_ms = null_factor_max * null.three_quarters();
    out.undisturbed = split.median() <= out.null_limit_ms;
  }
  out.compared_judged = split.any() && colocated.any();
  if (out.compared_judged) {
    out.split_below_colocated = split.median() < colocated.median();
    out.colocated_faster = collect(runs, arm::colocated, ratio, speed_of).median()
                           > collect(runs, arm::split, ratio, speed_of).median();
  }
  return out;
}

uint32_t best_chunk(const std::vector<chunk_trial>& trials) {
  PS_CHECK(!trials.empty());
  double fastest = 0.0;
  for (const auto& t : trials)
    fastest = std::max(fastest, t.tokens_per_s);
  const chunk_trial* best = nullptr;
  for (const auto& t : trials)
    if (t.tokens_per_s >= throughput_share_min * fastest
        && (best == nullptr || t.itl_ms_p99 < best->itl_ms_p99))
      best = &t;
  return best->chunk_tokens;
}

} // namespace penstock::apps::bench
