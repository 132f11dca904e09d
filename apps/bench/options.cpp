#include "apps/bench/options.hpp"

#include <cmath>

namespace penstock::apps::bench {

namespace {

constexpr uint32_t concurrency_default = 4;
constexpr uint64_t requests_default = 100;
constexpr double duration_s_max = 7 * 86'400.0;
constexpr uint64_t budget_ms_max = 3'600'000;
constexpr uint32_t tokens_max = 1U << 20U;

error wrong(const std::string& what) {
  return {errc::invalid_argument, what};
}

/// Written so that a NaN is outside.
bool is_in(double value, double min, double max) {
  return value >= min && value <= max;
}

result<void> check_loop(const load_options& o) {
  if (o.concurrency != 0 && o.rate != 0.0)
    return wrong("give --concurrency (closed loop) or --rate (open loop), not both");
  if (o.concurrency > concurrency_max)
    return wrong("--concurrency is not in 1..4096");
  if (o.rate != 0.0 && !is_in(o.rate, 1e-6, rate_max))
    return wrong("--rate is not in 0.000001..100000 requests per second");
  if (o.requests + o.warmup > requests_max || o.requests > requests_max)
    return wrong("--requests and --warmup are more than 1000000 together");
  if (!is_in(o.duration_s, 0.0, duration_s_max))
    return wrong("--duration is not in 0..604800 seconds");
  return {};
}

result<void> check_prompts(const load_options& o) {
  if (!o.prompts.empty() && !o.trace.empty())
    return wrong("give --prompts or --trace, not both");
  if (!is_in(o.trace_scale, 1e-6, 1e6) || !is_in(o.trace_speed, 1e-6, 1e6))
    return wrong("--trace-scale and --trace-speed are above 0, and below a million");
  if (o.prompt_tokens < 1 || o.prompt_tokens > tokens_max)
    return wrong("--prompt-tokens is not in 1..1048576");
  if (o.output_tokens < 1 || o.output_tokens > tokens_max)
    return wrong("--output-tokens is not in 1..1048576");
  if (o.shared_prefix_tokens > o.prompt_tokens)
    return wrong("--shared-prefix-tokens is more than --prompt-tokens, "
                 + std::to_string(o.prompt_tokens));
  if (o.vocabulary < 1)
    return wrong("--vocabulary is 0; ids are drawn below it");
  if (o.budget_ms < 1 || o.budget_ms > budget_ms_max)
    return wrong("--budget-ms is not in 1..3600000");
  for (double goal : {o.goal.ttft_ms, o.goal.itl_ms, o.goal.tpot_ms})
    if (!is_in(goal, 0.0, 1e9))
      return wrong("an --slo is negative");
  return {};
}

result<prompt_source> source_of(const load_options& o) {
  if (!o.prompts.empty()) {
    auto text = read_text_file(o.prompts);
    auto lines = text ? prompts_in(*text, o.prompts) : text.err();
    if (!lines)
      return lines.err();
    return prompt_source{text_prompts{std::move(*lines), o.output_tokens}};
  }
  if (!o.trace.empty()) {
    auto text = read_text_file(o.trace);
    auto entries = text ? parse_trace(*text, o.trace) : text.err();
    if (!entries)
      return entries.err();
    return prompt_source{traced_prompts{std::move(*entries), o.trace_scale}};
  }
  return prompt_source{synthetic_prompts{o.prompt_tokens, o.shared_prefix_tokens, o.output_tokens}};
}

pacing pacing_of(const load_options& o, const prompt_source& source) {
  if (o.concurrency > 0)
    return closed_loop{o.concurrency};
  if (o.rate > 0.0)
    return poisson_arrivals{o.rate, o.seed};
  listed_arrivals out;
  for (const auto& entry : std::get<traced_prompts>(source).entries)
    out.at.push_back(static_cast<time_us>(static_cast<double>(entry.at) / o.trace_speed));
  return out;
}

} // namespace

std::string load_options::loop() const {
  return concurrency > 0 ? "closed" : rate > 0.0 ? "open" : "trace";
}

std::string load_options::source() const {
  return !trace.empty() ? "trace" : !prompts.empty() ? "prompts" : "synthetic";
}

result<load_options> checked(load_options options) {
  for (auto check : {check_loop, check_prompts})
    if (auto fine = check(options); !fine)
      return fine.err();
  if (options.concurrency == 0 && options.rate == 0.0 && options.trace.empty())
    options.concurrency = concurrency_default;
  if (options.requests == 0 && options.duration_s == 0.0)
    options.requests = requests_default;
  return options;
}

result<load_stream> stream_of(const load_options& options, uint32_t context) {
  if (context < 2)
    return wrong("the server's model has no context");
  auto source = source_of(options);
  if (!source)
    return source.err();
  if (options.source() == "synthetic" && options.prompt_tokens >= context)
    return wrong("--prompt-tokens " + std::to_string(options.prompt_tokens)
                 + " leaves no room for a token in the model's context of "
                 + std::to_string(context));
  workload_options what;
  what.seed = options.seed;
  what.vocabulary = options.vocabulary;
  what.context = context;
  what.budget_us = options.budget_ms * 1000;
  pacer_limits limits;
  limits.requests_max = options.warmup + (options.requests > 0 ? options.requests : requests_max);
  if (options.duration_s > 0.0)
    limits.duration_max = static_cast<time_us>(options.duration_s * 1e6);
  auto when = pacing_of(options, *source);
  return load_stream{workload{std::move(*source), what}, std::move(when), limits, options.warmup};
}

} // namespace penstock::apps::bench
