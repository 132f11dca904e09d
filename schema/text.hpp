// Strings to and from Cap'n Proto texts. Private to schema/.
#pragma once

#include <capnp/blob.h>

#include <string>
#include <string_view>

namespace penstock::schema {

/// @param s Outlives the reader; ends in a zero byte, as every std::string does.
[[nodiscard]] inline capnp::Text::Reader text_of(const std::string& s) {
  return {s.c_str(), s.size()};
}

[[nodiscard]] inline std::string string_of(capnp::Text::Reader t) {
  return {t.begin(), t.size()};
}

/// @returns `s`, or its longest beginning of at most `bytes_max` that splits no UTF-8 character.
[[nodiscard]] inline std::string cut_text(const std::string& s, size_t bytes_max) {
  if (s.size() <= bytes_max)
    return s;
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xC0U) == 0x80U)
    --end;
  return s.substr(0, end);
}

} // namespace penstock::schema
