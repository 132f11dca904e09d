// The alphabet of byte-level BPE: each of the 256 bytes written as one printable character.
//
// GPT-2's rule: bytes that print as themselves in Latin-1 keep their code point; the other 68 take
// U+0100 upwards, in order. Tokenizer files spell their vocabulary in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::model {

/// Appends each byte of `bytes` as its character, UTF-8 encoded.
void append_byte_chars(std::string& out, std::string_view bytes);

/// @returns The byte that `code_point` stands for, or nothing if it stands for none.
[[nodiscard]] std::optional<uint8_t> byte_of_char(char32_t code_point) noexcept;

/// @param text Well-formed UTF-8.
/// @returns The bytes its characters stand for, or nothing if one stands for none.
[[nodiscard]] std::optional<std::string> bytes_of_chars(std::string_view text);

} // namespace penstock::model
