#include "cluster/key_depth.hpp"

namespace penstock::cluster {
namespace {

/// @returns The index just past the string that begins at `at` with the quote `text[at]`.
size_t skip_string(std::string_view text, size_t at) noexcept {
  const char quote = text[at];
  const bool escapes = quote == '"';
  bool lines = text.size() - at >= 3 && text[at + 1] == quote && text[at + 2] == quote;
  size_t i = at + (lines ? 3 : 1);
  while (i < text.size()) {
    char c = text[i];
    if (c == '\\' && escapes) {
      i += 2;
    } else if (c == '\n' && !lines) {
      return i; // Not closed: toml++ will stop here.
    } else if (c != quote) {
      ++i;
    } else if (!lines) {
      return i + 1;
    } else if (text.size() - i >= 3 && text[i + 1] == quote && text[i + 2] == quote) {
      i += 3;
      // Up to two quotes more may be content before the closing three.
      for (int extra = 0; extra < 2 && i < text.size() && text[i] == quote; ++extra)
        ++i;
      return i;
    } else {
      ++i;
    }
  }
  return text.size();
}

} // namespace

position find_deep_key(std::string_view text) noexcept {
  uint32_t dots = 0;
  uint32_t line = 1;
  for (size_t i = 0; i < text.size();) {
    switch (text[i]) {
    case '"':
    case '\'': {
      size_t end = skip_string(text, i);
      for (; i < end && i < text.size(); ++i)
        line += text[i] == '\n' ? 1 : 0;
      continue;
    }
    case '#':
      while (i < text.size() && text[i] != '\n')
        ++i;
      continue;
    case '.':
      if (++dots > key_dots_max)
        return {line, 1};
      break;
    case '\n':
      ++line;
      dots = 0;
      break;
    case '=':
    case ',':
    case '[':
    case ']':
    case '{':
    case '}':
      dots = 0;
      break;
    default:
      break;
    }
    ++i;
  }
  return {};
}

} // namespace penstock::cluster
