#include "apps/bench/request_record.hpp"

namespace penstock::apps::bench {

std::string failure_of(const request_record& record) {
  const auto& outcome = record.outcome;
  if (record.endings != 1)
    return record.endings == 0 ? "never ended" : "ended more than once";
  if (record.late_tokens > 0)
    return "tokens after the end";
  if (outcome.code != errc::ok)
    return std::string{name_of(outcome.code)};
  if (outcome.reason != finish_reason::length)
    return "finish reason " + std::string{name_of(outcome.reason)};
  if (record.tokens.size() != record.output_tokens
      || outcome.usage.completion_tokens != record.output_tokens)
    return "wrong token count";
  const auto& usage = outcome.usage;
  if ((record.prompt_tokens != 0 && usage.prompt_tokens != record.prompt_tokens)
      || usage.computed_tokens + usage.cached_tokens != usage.prompt_tokens)
    return "wrong prompt token count";
  return {};
}

} // namespace penstock::apps::bench
