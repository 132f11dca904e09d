#include "model/json_fields.hpp"

#include <cmath>
#include <cstdio>

namespace penstock::model {

namespace {

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

} // namespace

const json* json_fields::find(std::string_view key) const {
  const auto at = object_.find(std::string{key});
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

void json_fields::fail(error e) {
  if (!error_)
    error_ = std::move(e);
}

void json_fields::fail(std::string_view key, const std::string& allowed) {
  const json* value = find(key);
  fail(json_error(source_, key,
                  "found " + (value != nullptr ? json_excerpt(*value) : std::string{"nothing"})
                    + ", allowed: " + allowed));
}

uint32_t json_fields::integer(std::string_view key, uint32_t low, uint32_t high,
                              std::optional<uint32_t> fallback) {
  const json* value = find(key);
  if (value == nullptr && fallback)
    return *fallback;
  // Negative integers are not "unsigned" to the library, so one test covers sign and kind.
  if (value == nullptr || !value->is_number_unsigned() || value->get<uint64_t>() < low
      || value->get<uint64_t>() > high) {
    fail(key, "an integer from " + std::to_string(low) + " to " + std::to_string(high));
    return fallback.value_or(low);
  }
  return value->get<uint32_t>();
}

float json_fields::number(std::string_view key, double low, double high,
                          std::optional<float> fallback) {
  const json* value = find(key);
  if (value == nullptr && fallback)
    return *fallback;
  const double found = value != nullptr && value->is_number() ? value->get<double>() : NAN;
  if (!(found >= low && found <= high)) { // Also true for NaN.
    fail(key, "a number from " + short_number(low) + " to " + short_number(high));
    return fallback.value_or(static_cast<float>(low));
  }
  return static_cast<float>(found);
}

bool json_fields::boolean(std::string_view key, bool fallback) {
  const json* value = find(key);
  if (value == nullptr)
    return fallback;
  if (!value->is_boolean()) {
    fail(key, "true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string json_fields::text(std::string_view key, std::string_view fallback) {
  const json* value = find(key);
  if (value == nullptr)
    return std::string{fallback};
  if (!value->is_string()) {
    fail(key, "a string");
    return std::string{fallback};
  }
  return value->get<std::string>();
}

} // namespace penstock::model
