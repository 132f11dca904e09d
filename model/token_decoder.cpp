#include "model/token_decoder.hpp"

#include "model/byte_chars.hpp"

#include <charconv>
#include <optional>

namespace penstock::model {

namespace {

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string_view::npos;
       found = text.find(from, at)) {
    out += text.substr(at, found - at);
    out += to;
    at = found + from.size();
  }
  out += text.substr(at);
  return out;
}

// "<0x0A>" is 10.
std::optional<char> fallback_byte(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>'))
    return std::nullopt;
  unsigned value = 0;
  const char* end = token.data() + 5;
  const auto read = std::from_chars(token.data() + 3, end, value, 16);
  return read.ec == std::errc{} && read.ptr == end ? std::optional{static_cast<char>(value)}
                                                   : std::nullopt;
}

} // namespace

std::string token_decoder::bytes_of(std::string_view token, bool is_added, bool is_first) const {
  std::string text{token};
  for (const auto& [from, to] : spec_.replace)
    text = replace_all(text, from, to);
  if (spec_.byte_fallback)
    if (const auto byte = fallback_byte(text))
      return std::string(1, *byte);
  // Added tokens are not spelt in byte_chars; that some read as such is chance.
  if (spec_.byte_level && !is_added)
    if (auto bytes = bytes_of_chars(text))
      return *std::move(bytes);
  if (!spec_.metaspace.empty())
    text = replace_all(text, spec_.metaspace, is_first && spec_.metaspace_first_dropped ? "" : " ");
  return text;
}

void token_decoder::append(std::string& out, std::string_view token, bool is_added,
                           position& at) const {
  if (spec_.join_with_space && !at.first_token)
    out += ' ';
  const std::string bytes = bytes_of(token, is_added, at.first_token);
  at.first_token = false;
  std::string_view rest = bytes;
  while (!at.text_started && at.stripped < spec_.strip_count_max && rest.starts_with(spec_.strip)) {
    rest.remove_prefix(spec_.strip.size());
    ++at.stripped;
  }
  at.text_started = at.text_started || !rest.empty();
  out += rest;
}

} // namespace penstock::model
