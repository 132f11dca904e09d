#include "model/utf8.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::model {

namespace {

struct sequence {
  size_t bytes; // Read: the whole sequence, or the maximal subpart that cannot go on.
  bool well_formed;
  bool ran_out = false; // Not well formed only because the text ended.
};

// Reads one sequence at the front of `text`, which is not empty.
sequence read_sequence(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80)
    return {1, true};
  if (lead < 0xC2 || lead > 0xF4)
    return {1, false};
  // The second byte's range excludes overlong forms, surrogates and values over U+10FFFF.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (lead == 0xE0)
    low = 0xA0;
  else if (lead == 0xED)
    high = 0x9F;
  else if (lead == 0xF0)
    low = 0x90;
  else if (lead == 0xF4)
    high = 0x8F;
  const size_t wanted = utf8_length_of(text[0]);
  for (size_t i = 1; i < wanted; ++i) {
    if (i == text.size())
      return {i, false, true};
    if (byte(i) < low || byte(i) > high)
      return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {wanted, true};
}

// Bytes at the front that are ASCII, by eights.
size_t ascii_prefix(std::string_view text) noexcept {
  size_t at = 0;
  for (uint64_t word = 0; at + sizeof word <= text.size(); at += sizeof word) {
    std::memcpy(&word, text.data() + at, sizeof word);
    if ((word & 0x8080808080808080ULL) != 0)
      break;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80)
    ++at;
  return at;
}

} // namespace

std::optional<size_t> find_invalid_utf8(std::string_view text) noexcept {
  size_t at = 0;
  while (true) {
    at += ascii_prefix(text.substr(at));
    if (at == text.size())
      return std::nullopt;
    const sequence next = read_sequence(text.substr(at));
    if (!next.well_formed)
      return at;
    at += next.bytes;
  }
}

char32_t utf8_code_point(std::string_view text, size_t at) noexcept {
  const auto byte = [&](size_t i) -> char32_t { return static_cast<unsigned char>(text[at + i]); };
  switch (utf8_length_of(text[at])) {
  case 1:
    return byte(0);
  case 2:
    return (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU);
  case 3:
    return (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
  }
  return (byte(0) & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U
         | (byte(3) & 0x3FU);
}

void append_utf8(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | code_point >> 6U);
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    put(0xE0U | code_point >> 12U);
    put(0x80U | (code_point >> 6U & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    put(0xF0U | code_point >> 18U);
    put(0x80U | (code_point >> 12U & 0x3FU));
    put(0x80U | (code_point >> 6U & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const sequence next = read_sequence(bytes);
    out += next.well_formed ? bytes.substr(0, next.bytes) : std::string_view{"\xEF\xBF\xBD"};
    bytes.remove_prefix(next.bytes);
  }
  return out;
}

size_t incomplete_utf8_tail(std::string_view bytes) noexcept {
  for (size_t tail = 1; tail <= std::min<size_t>(3, bytes.size()); ++tail) {
    const std::string_view end = bytes.substr(bytes.size() - tail);
    if ((static_cast<unsigned char>(end[0]) & 0xC0U) == 0x80U)
      continue; // A continuation byte: its lead is further left.
    const sequence last = read_sequence(end);
    return last.ran_out && last.bytes == tail ? tail : 0;
  }
  return 0;
}

} // namespace penstock::model
