#include "model/byte_chars.hpp"

#include "model/utf8.hpp"

#include <array>

namespace penstock::model {

namespace {

constexpr char32_t shifted_start = 0x100;
constexpr uint32_t shifted_count = 68;

constexpr bool prints_as_itself(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct tables {
  std::array<char16_t, 256> char_of{};
  std::array<uint8_t, shifted_count> byte_of_shifted{};
};

constexpr tables make_tables() {
  tables out;
  uint32_t shifted = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (prints_as_itself(byte)) {
      out.char_of[byte] = static_cast<char16_t>(byte);
    } else {
      out.char_of[byte] = static_cast<char16_t>(shifted_start + shifted);
      out.byte_of_shifted[shifted++] = static_cast<uint8_t>(byte);
    }
  }
  return out;
}

constexpr tables byte_tables = make_tables();

} // namespace

void append_byte_chars(std::string& out, std::string_view bytes) {
  for (const char c : bytes)
    append_utf8(out, byte_tables.char_of[static_cast<unsigned char>(c)]);
}

std::optional<uint8_t> byte_of_char(char32_t code_point) noexcept {
  if (code_point < 256 && prints_as_itself(code_point))
    return static_cast<uint8_t>(code_point);
  if (code_point >= shifted_start && code_point < shifted_start + shifted_count)
    return byte_tables.byte_of_shifted[code_point - shifted_start];
  return std::nullopt;
}

std::optional<std::string> bytes_of_chars(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); at += utf8_length_of(text[at])) {
    const auto byte = byte_of_char(utf8_code_point(text, at));
    if (!byte)
      return std::nullopt;
    out.push_back(static_cast<char>(*byte));
  }
  return out;
}

} // namespace penstock::model
