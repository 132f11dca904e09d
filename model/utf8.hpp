// UTF-8: checking, decoding and repairing. Knows no tokenizer.
//
// "Well formed" is Unicode's table 3-7: no surrogates, nothing over U+10FFFF, no overlong forms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::model {

/// @returns Byte offset of the first sequence that is not well formed, or nothing.
[[nodiscard]] std::optional<size_t> find_invalid_utf8(std::string_view text) noexcept;

/// @param lead First byte of a well-formed sequence.
/// @returns Its length in bytes, 1 to 4.
[[nodiscard]] constexpr size_t utf8_length_of(char lead) noexcept {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// @param at Start of a well-formed sequence in `text`.
[[nodiscard]] char32_t utf8_code_point(std::string_view text, size_t at) noexcept;

/// @param code_point A Unicode scalar value.
void append_utf8(std::string& out, char32_t code_point);

/// Replaces what is not well formed by U+FFFD: one per maximal subpart, as Unicode recommends.
[[nodiscard]] std::string to_valid_utf8(std::string_view bytes);

/// @returns How many bytes at the end, 0 to 3, could still become a well-formed sequence when more
///          bytes follow. Repairing the bytes before them gives the same text now and later.
[[nodiscard]] size_t incomplete_utf8_tail(std::string_view bytes) noexcept;

} // namespace penstock::model
