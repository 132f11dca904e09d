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
                   request.sampling.stop_ids.size(), request.stop_strings.size(), longest});
  if (!sizes)
    return sizes;
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
