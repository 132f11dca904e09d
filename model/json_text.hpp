// JSON bytes to a document, with bounds. Private to this folder: no other header includes it.
//
// Checks form only (syntax, depth, duplicate keys); what the keys mean is checked where they are
// read. Errors name the source and the byte.
#pragma once

#include "base/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace penstock::model {

using json = nlohmann::json;

/// Deeper documents are refused; the deepest real one, a tokenizer.json, has 8 levels.
inline constexpr size_t json_depth_max = 32;

enum class duplicate_keys : bool { refused, last_wins };

/// @param source Name for errors, e.g. "config.json".
/// @returns The document, whose root is an object, or errc::malformed.
[[nodiscard]] result<json> parse_json(std::span<const std::byte> bytes, std::string_view source,
                                      duplicate_keys duplicates = duplicate_keys::refused);

/// @returns errc::malformed: "source: key `key`: what".
[[nodiscard]] error json_error(std::string_view source, std::string_view key,
                               std::string_view what);

/// @returns `value` as text, cut to 80 bytes, for an error.
[[nodiscard]] std::string json_excerpt(const json& value);

} // namespace penstock::model
