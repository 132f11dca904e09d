#include "schema/convert.hpp"

#include "schema/request_check.hpp"
#include "schema/text.hpp"
#include "schema/token_lists.hpp"

#include <algorithm>

namespace penstock::schema {

static_assert(wire::MODEL_BYTES_MAX == request_limits::model_bytes_max);
static_assert(wire::PROMPT_BYTES_MAX == request_limits::prompt_bytes_max);
static_assert(wire::PROMPT_IDS_MAX == request_limits::prompt_ids_max);
static_assert(wire::TEMPERATURE_MAX == request_limits::temperature_max);
static_assert(wire::TOKENS_MAX_MAX == request_limits::tokens_max_max);
static_assert(wire::REPETITION_PENALTY_MAX == request_limits::repetition_penalty_max);
static_assert(wire::TOP_LOGPROBS_MAX == request_limits::top_logprobs_max);
static_assert(wire::REPLY_PREFIX_BYTES_MAX == request_limits::reply_prefix_bytes_max);
static_assert(wire::TENANT_BYTES_MAX == request_limits::tenant_bytes_max);
static_assert(wire::CACHE_SALT_BYTES_MAX == request_limits::cache_salt_bytes_max);
static_assert(static_cast<int>(wire::Priority::BATCH) == static_cast<int>(priority_class::batch));
static_assert(wire::STOP_IDS_MAX == request_limits::stop_ids_max);
static_assert(wire::STOP_STRINGS_MAX == request_limits::stop_strings_max);
static_assert(wire::STOP_STRING_BYTES_MAX == request_limits::stop_string_bytes_max);
static_assert(wire::BUDGET_US_MAX == request_limits::budget_us_max);
static_assert(static_cast<int>(wire::FinishReason::FAILED)
              == static_cast<int>(finish_reason::failed));

namespace {

void write_usage(const usage& from, wire::Usage::Builder into) {
  into.setPromptTokens(from.prompt_tokens);
  into.setCompletionTokens(from.completion_tokens);
  into.setCachedTokens(from.cached_tokens);
  into.setComputedTokens(from.computed_tokens);
  into.setTransferredTokens(from.transferred_tokens);
  into.setRecomputedTokens(from.recomputed_tokens);
}

usage read_usage(wire::Usage::Reader from) {
  return {from.getPromptTokens(),   from.getCompletionTokens(),  from.getCachedTokens(),
          from.getComputedTokens(), from.getTransferredTokens(), from.getRecomputedTokens()};
}

void write_timings(const request_timings& from, wire::Timings::Builder into) {
  into.setAdmissionUs(from.admission_us);
  into.setGuardrailUs(from.guardrail_us);
  into.setQueueUs(from.queue_us);
  into.setPrefillUs(from.prefill_us);
  into.setTransferUs(from.transfer_us);
  into.setTransferExposedUs(from.transfer_exposed_us);
  into.setTransferBytes(from.transfer_bytes);
  into.setTtftUs(from.ttft_us);
  into.setTotalUs(from.total_us);
}

request_timings read_timings(wire::Timings::Reader from) {
  request_timings out;
  out.admission_us = from.getAdmissionUs();
  out.guardrail_us = from.getGuardrailUs();
  out.queue_us = from.getQueueUs();
  out.prefill_us = from.getPrefillUs();
  out.transfer_us = from.getTransferUs();
  out.transfer_exposed_us = from.getTransferExposedUs();
  out.transfer_bytes = from.getTransferBytes();
  out.ttft_us = from.getTtftUs();
  out.total_us = from.getTotalUs();
  return out;
}

void write_ids(const std::vector<token_id>& from, capnp::List<uint32_t>::Builder into) {
  for (unsigned i = 0; i < into.size(); ++i)
    into.set(i, from[i]);
}

std::vector<token_id> read_ids(capnp::List<uint32_t>::Reader from) {
  std::vector<token_id> out;
  out.reserve(from.size());
  for (auto id : from)
    out.push_back(id);
  return out;
}

} // namespace

void write_request(const generate_request& from, wire::GenerateRequest::Builder into) {
  into.setModel(text_of(from.model));
  into.setPrompt(text_of(from.prompt));
  write_ids(from.prompt_ids, into.initPromptIds(static_cast<unsigned>(from.prompt_ids.size())));
  into.setRaw(from.raw);
  into.setTemperature(from.sampling.temperature);
  into.setSeed(from.sampling.seed);
  into.setTokensMax(from.sampling.tokens_max);
  into.setIgnoreEnd(from.sampling.ignore_end);
  into.setBudgetUs(from.budget_us);
  into.setTopK(from.sampling.top_k);
  into.setTopP(from.sampling.top_p);
  into.setMinP(from.sampling.min_p);
  into.setRepetitionPenalty(from.sampling.repetition_penalty);
  into.setTokensMin(from.sampling.tokens_min);
  const auto& stops = from.sampling.stop_ids;
  write_ids(stops, into.initStopIds(static_cast<unsigned>(stops.size())));
  auto strings = into.initStopStrings(static_cast<unsigned>(from.stop_strings.size()));
  for (unsigned i = 0; i < strings.size(); ++i)
    strings.set(i, text_of(from.stop_strings[i]));
  into.setTopLogprobs(from.sampling.top_logprobs);
  into.setReplyPrefix(text_of(from.reply_prefix));
  into.setPriority(static_cast<wire::Priority>(from.priority));
  into.setTenant(text_of(from.tenant));
  into.setCacheSalt(text_of(from.cache_salt));
}

result<generate_request> read_request(wire::GenerateRequest::Reader from) {
  auto model = from.getModel();
  auto prompt = from.getPrompt();
  auto ids = from.getPromptIds();
  auto stops = from.getStopIds();
  auto strings = from.getStopStrings();
  size_t longest = 0;
  for (auto stop : strings)
    longest = std::max<size_t>(longest, stop.size());
  auto sizes = check_sizes({model.size(), prompt.size(), ids.size(), stops.size(), strings.size(),
                            longest, from.getReplyPrefix().size(), from.getTenant().size(),
                            from.getCacheSalt().size()});
  if (!sizes)
    return sizes.err();
  generate_request out;
  out.model = string_of(model);
  out.prompt = string_of(prompt);
  out.prompt_ids = read_ids(ids);
  out.raw = from.getRaw();
  out.sampling = {from.getTemperature(), from.getSeed(), from.getTokensMax(), from.getIgnoreEnd()};
  out.sampling.top_k = from.getTopK();
  out.sampling.top_p = from.getTopP();
  out.sampling.min_p = from.getMinP();
  out.sampling.repetition_penalty = from.getRepetitionPenalty();
  out.sampling.tokens_min = from.getTokensMin();
  out.sampling.stop_ids = read_ids(stops);
  for (auto stop : strings)
    out.stop_strings.push_back(string_of(stop));
  out.sampling.top_logprobs = from.getTopLogprobs();
  out.reply_prefix = string_of(from.getReplyPrefix());
  // A number that no class has stays one when it is cut to a byte.
  auto priority = static_cast<uint16_t>(from.getPriority());
  out.priority = static_cast<priority_class>(std::min<uint16_t>(priority, UINT8_MAX));
  out.tenant = string_of(from.getTenant());
  out.cache_salt = string_of(from.getCacheSalt());
  out.budget_us = from.getBudgetUs();
  auto form = check_request(out);
  if (!form)
    return form.err();
  return out;
}

void write_outcome(const generate_outcome& from, wire::Outcome::Builder into) {
  into.setReason(static_cast<wire::FinishReason>(from.reason));
  into.setCode(static_cast<uint8_t>(from.code));
  into.setCodeName(text_of(std::string{name_of(from.code)}));
  into.setDetail(text_of(from.detail));
  into.setRetryAfterUs(from.retry_after_us);
  into.setExact(from.exact);
  write_usage(from.usage, into.initUsage());
  write_timings(from.timings, into.initTimings());
  auto placement = into.initPlacement();
  placement.setGateway(text_of(from.placement.gateway));
  placement.setPrefill(text_of(from.placement.prefill));
  placement.setDecode(text_of(from.placement.decode));
  placement.setTransport(text_of(from.placement.transport));
  placement.setAttempts(from.placement.attempts);
}

result<generate_outcome> read_outcome(wire::Outcome::Reader from) {
  generate_outcome out;
  auto reason = static_cast<uint16_t>(from.getReason());
  if (reason > static_cast<uint16_t>(finish_reason::failed))
    return error{errc::malformed, "the gateway sent a finish reason unknown to this version"};
  out.reason = static_cast<finish_reason>(reason);
  out.code = errc_from(from.getCode());
  out.detail = string_of(from.getDetail());
  out.retry_after_us = from.getRetryAfterUs();
  out.exact = from.getExact();
  out.usage = read_usage(from.getUsage());
  out.timings = read_timings(from.getTimings());
  auto placement = from.getPlacement();
  out.placement = {string_of(placement.getGateway()), string_of(placement.getPrefill()),
                   string_of(placement.getDecode()), string_of(placement.getTransport()),
                   placement.getAttempts()};
  return out;
}

void write_info(const service_info& from, wire::ServiceInfo::Builder into) {
  into.setVersion(text_of(from.version));
  into.setModel(text_of(from.model));
  into.setModelDigest(text_of(from.model_digest));
  into.setContextTokens(from.context_tokens);
  into.setNumericsId(text_of(from.numerics_id));
}

service_info read_info(wire::ServiceInfo::Reader from) {
  return {string_of(from.getVersion()), string_of(from.getModel()),
          string_of(from.getModelDigest()), from.getContextTokens(),
          string_of(from.getNumericsId())};
}

void write_tokens(std::span<const generated_token> tokens, const std::string& text,
                  wire::TokenSink::PushParams::Builder into) {
  write_token_lists(tokens, into);
  into.setText(text_of(text));
}

result<std::vector<generated_token>> read_tokens(wire::TokenSink::PushParams::Reader from) {
  std::vector<generated_token> out;
  if (const char* wrong = read_token_lists(from, request_limits::tokens_max_max, out))
    return error{errc::malformed, std::string{"the gateway's push "} + wrong};
  return out;
}

} // namespace penstock::schema
