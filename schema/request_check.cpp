#include "schema/request_check.hpp"

#include <algorithm>
#include <string>

namespace penstock::schema {

namespace {

error above(const char* field, size_t size, size_t max, const char* unit) {
  return {errc::invalid_argument, std::string{field} + " has " + std::to_string(size) + " " + unit
                                    + ", more than " + std::to_string(max)};
}

std::string outside(const char* field, const std::string& value, const char* range) {
  return std::string{field} + " is " + value + ", not in " + range;
}

std::optional<std::string> wrong_tenant(const std::string& tenant) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.'
           || c == '_' || c == '-';
  };
  for (size_t i = 0; i < tenant.size(); ++i)
    if (!allowed(tenant[i]))
      return "tenant has byte " + std::to_string(static_cast<unsigned char>(tenant[i])) + " at "
             + std::to_string(i) + ", not in A-Z a-z 0-9 . _ -";
  return std::nullopt;
}

} // namespace

result<void> check_sizes(const request_sizes& sizes) {
  using namespace request_limits;
  if (sizes.model_bytes > model_bytes_max)
    return above("model", sizes.model_bytes, model_bytes_max, "bytes");
  if (sizes.prompt_bytes > prompt_bytes_max)
    return above("prompt", sizes.prompt_bytes, prompt_bytes_max, "bytes");
  if (sizes.prompt_ids > prompt_ids_max)
    return above("prompt_ids", sizes.prompt_ids, prompt_ids_max, "ids");
  if (sizes.stop_ids > stop_ids_max)
    return above("stop_ids", sizes.stop_ids, stop_ids_max, "ids");
  if (sizes.stop_strings > stop_strings_max)
    return above("stop_strings", sizes.stop_strings, stop_strings_max, "strings");
  if (sizes.stop_string_bytes > stop_string_bytes_max)
    return above("one of stop_strings", sizes.stop_string_bytes, stop_string_bytes_max, "bytes");
  if (sizes.reply_prefix_bytes > reply_prefix_bytes_max)
    return above("reply_prefix", sizes.reply_prefix_bytes, reply_prefix_bytes_max, "bytes");
  if (sizes.tenant_bytes > tenant_bytes_max)
    return above("tenant", sizes.tenant_bytes, tenant_bytes_max, "bytes");
  if (sizes.cache_salt_bytes > cache_salt_bytes_max)
    return above("cache_salt", sizes.cache_salt_bytes, cache_salt_bytes_max, "bytes");
  return {};
}

std::optional<std::string> wrong_sampling(const sampling_params& sampling) {
  using namespace request_limits;
  // Written so that a NaN is outside.
  if (!(sampling.temperature >= 0.0F && sampling.temperature <= temperature_max))
    return outside("temperature", std::to_string(sampling.temperature), "[0, 10]");
  if (sampling.tokens_max < 1 || sampling.tokens_max > tokens_max_max)
    return outside("tokens_max", std::to_string(sampling.tokens_max), "[1, 1048576]");
  if (!(sampling.top_p > 0.0F && sampling.top_p <= 1.0F))
    return outside("top_p", std::to_string(sampling.top_p), "(0, 1]");
  if (!(sampling.min_p >= 0.0F && sampling.min_p <= 1.0F))
    return outside("min_p", std::to_string(sampling.min_p), "[0, 1]");
  if (!(sampling.repetition_penalty > 0.0F
        && sampling.repetition_penalty <= repetition_penalty_max))
    return outside("repetition_penalty", std::to_string(sampling.repetition_penalty), "(0, 10]");
  if (sampling.tokens_min > sampling.tokens_max)
    return "tokens_min is " + std::to_string(sampling.tokens_min) + ", more than tokens_max, "
           + std::to_string(sampling.tokens_max);
  if (sampling.top_logprobs > top_logprobs_max)
    return outside("top_logprobs", std::to_string(sampling.top_logprobs), "[0, 20]");
  return std::nullopt;
}

result<void> check_request(const generate_request& request) {
  using namespace request_limits;
  size_t longest = 0;
  for (const auto& stop : request.stop_strings) {
    if (stop.empty())
      return error{errc::invalid_argument, "one of stop_strings is empty"};
    longest = std::max(longest, stop.size());
  }
  auto sizes
    = check_sizes({request.model.size(), request.prompt.size(), request.prompt_ids.size(),
                   request.sampling.stop_ids.size(), request.stop_strings.size(), longest,
                   request.reply_prefix.size(), request.tenant.size(), request.cache_salt.size()});
  if (!sizes)
    return sizes;
  if (auto text = request.prompt.size() + request.reply_prefix.size(); text > prompt_bytes_max)
    return above("prompt with reply_prefix", text, prompt_bytes_max, "bytes");
  if (!request.prompt.empty() && !request.prompt_ids.empty())
    return error{errc::invalid_argument, "prompt and prompt_ids are both given; give one of them"};
  if (auto wrong = wrong_tenant(request.tenant))
    return error{errc::invalid_argument, std::move(*wrong)};
  if (request.priority > priority_class::batch)
    return error{errc::invalid_argument,
                 outside("priority", std::to_string(static_cast<int>(request.priority)),
                         "interactive (0), normal (1), batch (2)")};
  if (auto wrong = wrong_sampling(request.sampling))
    return error{errc::invalid_argument, std::move(*wrong)};
  if (request.budget_us < 1 || request.budget_us > budget_us_max)
    return error{errc::invalid_argument,
                 outside("budget_us", std::to_string(request.budget_us), "[1, 3600000000]")};
  return {};
}

generate_outcome refused_outcome(const error& why) {
  generate_outcome out;
  out.reason = finish_reason::refused;
  out.code = why.code;
  out.detail = why.detail;
  return out;
}

} // namespace penstock::schema
