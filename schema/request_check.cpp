#include "schema/request_check.hpp"

#include <cmath>
#include <string>

namespace penstock::schema {

namespace {

error above(const char* field, size_t size, size_t max, const char* unit) {
  return {errc::invalid_argument, std::string{field} + " has " + std::to_string(size) + " " + unit
                                    + ", more than " + std::to_string(max)};
}

error outside(const char* field, const std::string& value, const char* range) {
  return {errc::invalid_argument, std::string{field} + " is " + value + ", not in " + range};
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
  return {};
}

result<void> check_request(const generate_request& request) {
  using namespace request_limits;
  auto sizes
    = check_sizes({request.model.size(), request.prompt.size(), request.prompt_ids.size()});
  if (!sizes)
    return sizes;
  const auto& sampling = request.sampling;
  if (!std::isfinite(sampling.temperature) || sampling.temperature < 0.0F
      || sampling.temperature > temperature_max)
    return outside("temperature", std::to_string(sampling.temperature), "[0, 10]");
  if (sampling.tokens_max < 1 || sampling.tokens_max > tokens_max_max)
    return outside("tokens_max", std::to_string(sampling.tokens_max), "[1, 1048576]");
  if (request.budget_us < 1 || request.budget_us > budget_us_max)
    return outside("budget_us", std::to_string(request.budget_us), "[1, 3600000000]");
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
