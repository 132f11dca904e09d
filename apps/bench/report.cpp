#include "apps/bench/report.hpp"

#include "apps/bench/json_parts.hpp"

#include <cstdarg>
#include <cstdio>

namespace penstock::apps::bench {

namespace {

using nlohmann::ordered_json;

__attribute__((format(printf, 2, 3))) void add(std::string& out, const char* format, ...) {
  char text[400];
  va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  out += text;
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

void add_load(std::string& out, const load_report& r) {
  const auto& o = r.load;
  add(out, "load      ");
  if (o.concurrency > 0)
    add(out, "closed loop, %u at a time", o.concurrency);
  else if (o.rate > 0.0)
    add(out, "open loop, %.4g requests/s, Poisson", o.rate);
  else
    add(out, "at the times of the trace, %.4g times as fast", o.trace_speed);
  if (o.source() == "synthetic")
    add(out, "; prompts of %u random tokens, %u of them shared, answers of %u", o.prompt_tokens,
        o.shared_prefix_tokens, o.output_tokens);
  else if (o.source() == "trace")
    add(out, "; lengths of %s times %.4g", o.trace.c_str(), o.trace_scale);
  else
    add(out, "; prompts of %s, answers of %u tokens", o.prompts.c_str(), o.output_tokens);
  add(out, "\n          seed %llu, %llu requests counted after %llu to warm up, in %.3f s\n",
      static_cast<unsigned long long>(o.seed), static_cast<unsigned long long>(r.measured.requests),
      static_cast<unsigned long long>(r.measured.warmup), r.measured.window_s);
  if (r.measured.cut > 0)
    add(out, "          %llu of them were cut to the model's context of %u tokens\n",
        static_cast<unsigned long long>(r.measured.cut), r.server.context_tokens);
}

void add_latency(std::string& out, const char* name, const percentiles& p) {
  add(out, "%-10s%10.3f%10.3f%10.3f%10.3f%10.3f%10zu\n", name, p.mean(), p.median(), p.at(0.9),
      p.at(0.99), p.max(), p.count());
}

void add_rates(std::string& out, const load_report& r) {
  const auto& m = r.measured;
  add(out, "requests  %10.3f /s\n", m.per_second(m.completed));
  add(out, "output    %10.1f tokens/s\n", m.per_second(m.output_tokens));
  add(out, "prompts   %10.1f tokens/s, %.1f %% of them cached\n", m.per_second(m.prompt_tokens),
      100.0 * share(m.cached_tokens, m.prompt_tokens));
  if (!r.load.goal.any())
    return;
  add(out, "goodput   %10.3f /s, %.1f %% of requests", m.per_second(m.good),
      100.0 * share(m.good, m.requests));
  const auto& goal = r.load.goal;
  for (auto [name, bound] :
       {std::pair{"TTFT", goal.ttft_ms}, {"each ITL", goal.itl_ms}, {"TPOT", goal.tpot_ms}})
    if (bound > 0.0)
      add(out, ", %s <= %.4g ms", name, bound);
  out += '\n';
}

void add_failures(std::string& out, const load_report& r) {
  for (const auto& [reason, failure] : r.measured.failures)
    add(out, "failed    %10llu: %s%s%.200s\n", static_cast<unsigned long long>(failure.count),
        reason.c_str(), failure.detail.empty() ? "" : ": ", failure.detail.c_str());
  if (r.interrupted)
    out += "interrupted: these are the figures of what came so far\n";
  auto warning = r.measured.generator_warning();
  if (!warning.empty())
    out += "warning: " + warning + "\n";
}

ordered_json load_json(const load_options& o) {
  ordered_json out{{"loop", o.loop()}, {"source", o.source()}, {"seed", o.seed}};
  if (o.concurrency > 0)
    out["concurrency"] = o.concurrency;
  if (o.rate > 0.0)
    out["rate_per_s"] = o.rate;
  if (o.source() == "trace") {
    out["file"] = o.trace;
    out["trace_scale"] = o.trace_scale;
    out["trace_speed"] = o.trace_speed;
  } else {
    out["output_tokens"] = o.output_tokens;
  }
  if (o.source() == "prompts")
    out["file"] = o.prompts;
  if (o.source() == "synthetic") {
    out["prompt_tokens"] = o.prompt_tokens;
    out["shared_prefix_tokens"] = o.shared_prefix_tokens;
  }
  out["requests_max"] = o.requests == 0 ? ordered_json(nullptr) : ordered_json(o.requests);
  out["duration_s_max"] = o.duration_s == 0.0 ? ordered_json(nullptr) : ordered_json(o.duration_s);
  out["warmup"] = o.warmup;
  out["budget_ms"] = o.budget_ms;
  return out;
}

ordered_json failures_json(const figures& m) {
  ordered_json out = ordered_json::array();
  for (const auto& [reason, failure] : m.failures)
    out.push_back({{"reason", reason}, {"count", failure.count}, {"detail", failure.detail}});
  return out;
}

ordered_json goodput_json(const load_options& o, const figures& m) {
  if (!o.goal.any())
    return nullptr;
  return {{"ttft_ms_max", o.goal.ttft_ms},      {"itl_ms_max", o.goal.itl_ms},
          {"tpot_ms_max", o.goal.tpot_ms},      {"good", m.good},
          {"share", share(m.good, m.requests)}, {"per_s", m.per_second(m.good)}};
}

} // namespace

bool succeeded(const load_report& report) {
  return report.measured.failed() == 0 && report.measured.completed > 0;
}

std::string to_text(const load_report& r) {
  std::string out;
  add(out, "server    %s, model \"%s\", version %s\n", r.address.c_str(), r.server.model.c_str(),
      r.server.version.c_str());
  add_load(out, r);
  add(out, "machine   %s, %u cores, load average %.2f before\nbuild     %s, commit %s\n",
      r.run.cpu.c_str(), r.run.cores, r.run.load_before, r.run.build.c_str(), r.run.commit.c_str());
  add(out, "\n%-10s%10s%10s%10s%10s%10s%10s\n", "ms", "mean", "p50", "p90", "p99", "max", "count");
  add_latency(out, "TTFT", r.measured.ttft_ms);
  add_latency(out, "ITL", r.measured.itl_ms);
  add_latency(out, "TPOT", r.measured.tpot_ms);
  add_latency(out, "E2E", r.measured.e2e_ms);
  add_latency(out, "sent late", r.measured.late_ms);
  out += '\n';
  add_rates(out, r);
  add(out, "generator %10.2f cores\n", r.measured.generator_cores);
  add_failures(out, r);
  return out;
}

std::string to_json(const load_report& r) {
  const auto& m = r.measured;
  ordered_json out{{"schema", load_schema}, {"run", json_of(r.run)}};
  out["server"] = json_of(r.server);
  out["server"]["address"] = r.address;
  out["load"] = load_json(r.load);
  out["results"] = {{"requests", m.requests},
                    {"completed", m.completed},
                    {"failed", m.failed()},
                    {"warmup", m.warmup},
                    {"cut_to_context", m.cut},
                    {"window_s", m.window_s},
                    {"interrupted", r.interrupted},
                    {"ttft_ms", json_of(m.ttft_ms)},
                    {"itl_ms", json_of(m.itl_ms)},
                    {"tpot_ms", json_of(m.tpot_ms)},
                    {"e2e_ms", json_of(m.e2e_ms)},
                    {"requests_per_s", m.per_second(m.completed)},
                    {"output_tokens", m.output_tokens},
                    {"output_tokens_per_s", m.per_second(m.output_tokens)},
                    {"prompt_tokens", m.prompt_tokens},
                    {"prompt_tokens_per_s", m.per_second(m.prompt_tokens)},
                    {"cached_tokens", m.cached_tokens},
                    {"cached_share", share(m.cached_tokens, m.prompt_tokens)}};
  out["results"]["goodput"] = goodput_json(r.load, m);
  out["failures"] = failures_json(m);
  auto warning = m.generator_warning();
  out["generator"] = {{"late_ms", json_of(m.late_ms)}, {"cores", m.generator_cores}};
  out["generator"]["warning"] = warning.empty() ? ordered_json(nullptr) : ordered_json(warning);
  return text_of(out);
}

} // namespace penstock::apps::bench
