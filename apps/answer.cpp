#include "apps/answer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penstock::apps {

namespace {

using nlohmann::ordered_json;

std::string dumped(const ordered_json& object) {
  // Text comes from a model: bytes that are no UTF-8 are replaced, never thrown about.
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json timings_of(const request_timings& t) {
  return {{"admission_us", t.admission_us},
          {"guardrail_us", t.guardrail_us},
          {"queue_us", t.queue_us},
          {"prefill_us", t.prefill_us},
          {"transfer_us", t.transfer_us},
          {"transfer_exposed_us", t.transfer_exposed_us},
          {"transfer_bytes", t.transfer_bytes},
          {"ttft_us", t.ttft_us},
          {"total_us", t.total_us}};
}

/// @returns For each token the likeliest in its place, the likeliest first.
ordered_json top_of(const std::vector<generated_token>& tokens) {
  ordered_json all = ordered_json::array();
  for (const auto& token : tokens) {
    auto& top = all.emplace_back(ordered_json::array());
    for (const auto& other : token.top)
      top.push_back({{"id", other.id}, {"logprob", other.logprob}});
  }
  return all;
}

std::string duration(uint64_t us) {
  char text[32];
  if (us < 10'000)
    std::snprintf(text, sizeof text, "%llu us", static_cast<unsigned long long>(us));
  else if (us < 10'000'000)
    std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(us) / 1e3);
  else
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(us) / 1e6);
  return text;
}

std::string size(uint64_t bytes) {
  char text[32];
  if (bytes < (uint64_t{1} << 20U))
    std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1024 * 1024));
  return text;
}

std::string rate(uint64_t count, uint64_t us) {
  if (us == 0)
    return "-";
  char text[48];
  std::snprintf(text, sizeof text, "%.0f tokens/s",
                static_cast<double>(count) * 1e6 / static_cast<double>(us));
  return text;
}

/// Middle and worst gap between tokens, as the client saw them.
std::string gaps(const std::vector<uint64_t>& arrivals) {
  if (arrivals.size() < 2)
    return "-";
  std::vector<uint64_t> waits;
  for (size_t i = 1; i < arrivals.size(); ++i)
    waits.push_back(arrivals[i] - arrivals[i - 1]);
  std::sort(waits.begin(), waits.end());
  auto mean = (arrivals.back() - arrivals.front()) / waits.size();
  return "mean " + duration(mean) + ", p50 " + duration(waits[waits.size() / 2]) + ", max "
         + duration(waits.back());
}

void row(std::string& out, const char* stage, const std::string& value,
         const std::string& note = {}) {
  char text[200];
  std::snprintf(text, sizeof text, "  %-11s %-12s %s", stage, value.c_str(), note.c_str());
  out += text;
  out.erase(out.find_last_not_of(' ') + 1);
  out += '\n';
}

} // namespace

bool succeeded(const generate_outcome& outcome) noexcept {
  return outcome.reason == finish_reason::stop || outcome.reason == finish_reason::length;
}

std::string to_json(const answer& a) {
  ordered_json ids = ordered_json::array();
  ordered_json logprobs = ordered_json::array();
  for (const auto& token : a.tokens) {
    ids.push_back(token.id);
    logprobs.push_back(std::isfinite(token.logprob) ? ordered_json(token.logprob) : nullptr);
  }
  const auto& o = a.outcome;
  ordered_json out{{"token_ids", std::move(ids)},
                   {"logprobs", std::move(logprobs)},
                   {"text", a.text},
                   {"finish_reason", name_of(o.reason)},
                   {"exact", o.exact}};
  if (!a.tokens.empty() && !a.tokens.front().top.empty())
    out["top_logprobs"] = top_of(a.tokens);
  out["usage"] = {{"prompt_tokens", o.usage.prompt_tokens},
                  {"completion_tokens", o.usage.completion_tokens},
                  {"cached_tokens", o.usage.cached_tokens},
                  {"computed_tokens", o.usage.computed_tokens},
                  {"transferred_tokens", o.usage.transferred_tokens},
                  {"recomputed_tokens", o.usage.recomputed_tokens}};
  out["timings"] = timings_of(o.timings);
  out["placement"] = {{"gateway", o.placement.gateway},
                      {"prefill", o.placement.prefill},
                      {"decode", o.placement.decode},
                      {"transport", o.placement.transport},
                      {"attempts", o.placement.attempts}};
  if (o.code != errc::ok || !succeeded(o)) {
    out["error"] = {{"code", name_of(o.code)}, {"detail", o.detail}};
    if (o.retry_after_us != 0)
      out["error"]["retry_after_us"] = o.retry_after_us;
  }
  return dumped(out);
}

std::string to_json(const std::vector<token_id>& ids) {
  return dumped(ordered_json{{"token_ids", ids}});
}

std::string stage_table(const answer& a) {
  const auto& o = a.outcome;
  const auto& t = o.timings;
  std::string out = "stage         time         what\n";
  bool distributed = o.placement.transport != "none"; // `run` has no stages between processes.
  if (distributed) {
    row(out, "admission", duration(t.admission_us));
    row(out, "guardrail", duration(t.guardrail_us));
    row(out, "queue", duration(t.queue_us));
  }
  row(out, "prefill", duration(t.prefill_us),
      std::to_string(o.usage.computed_tokens) + " tokens computed, "
        + std::to_string(o.usage.cached_tokens) + " cached, "
        + rate(o.usage.computed_tokens, t.prefill_us) + " on " + o.placement.prefill);
  if (distributed)
    row(out, "KV transfer", duration(t.transfer_us),
        size(t.transfer_bytes) + " over " + o.placement.transport + " to " + o.placement.decode
          + ", " + duration(t.transfer_exposed_us) + " of it waited for");
  row(out, "TTFT", duration(t.ttft_us), "acceptance to first token");
  row(out, "ITL", gaps(a.arrivals_us));
  auto decoded_us = t.total_us > t.ttft_us ? t.total_us - t.ttft_us : 0;
  auto later = a.tokens.empty() ? 0 : a.tokens.size() - 1;
  row(out, "total", duration(t.total_us),
      std::to_string(o.usage.completion_tokens) + " tokens, " + rate(later, decoded_us)
        + " after the first, finish: " + std::string{name_of(o.reason)});
  return out;
}

} // namespace penstock::apps
