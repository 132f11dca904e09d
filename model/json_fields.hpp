// Typed reads of a JSON object's fields, for config files. Private to this folder.
//
// Keeps the first error and returns defaults afterwards, so that a reader lists its fields without
// branching and asks once at the end.
#pragma once

#include "model/json_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::model {

class json_fields {
public:
  /// @param object An object; outlives this.
  /// @param source Name for errors.
  json_fields(const json& object, std::string_view source) : object_(object), source_(source) {}

  /// An integer in [low, high]; absent or null gives `fallback`, or an error without one.
  uint32_t integer(std::string_view key, uint32_t low, uint32_t high,
                   std::optional<uint32_t> fallback = std::nullopt);
  /// A finite number in [low, high].
  float number(std::string_view key, double low, double high,
               std::optional<float> fallback = std::nullopt);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string_view fallback);

  /// @returns The value, or nullptr if absent or null.
  [[nodiscard]] const json* find(std::string_view key) const;

  /// Notes that `key` has a value that cannot be used; the first note wins.
  void fail(std::string_view key, const std::string& allowed);
  void fail(error e);

  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  [[nodiscard]] const error& err() const { return *error_; }
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

private:
  const json& object_;
  std::string source_;
  std::optional<error> error_;
};

} // namespace penstock::model
