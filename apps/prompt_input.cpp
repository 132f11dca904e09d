#include "apps/prompt_input.hpp"

#include "base/limits.hpp"

#include <array>
#include <charconv>
#include <istream>

namespace penstock::apps {

result<std::string> read_all(std::istream& in) {
  std::string text;
  std::array<char, 65536> part{};
  while (in.read(part.data(), part.size()) || in.gcount() > 0) {
    text.append(part.data(), static_cast<size_t>(in.gcount()));
    if (text.size() > limits::prompt_bytes_max)
      return error{errc::prompt_too_long, "the prompt on stdin has more than "
                                            + std::to_string(limits::prompt_bytes_max)
                                            + " bytes; send a shorter one"};
  }
  if (in.bad())
    return error{errc::io_failed, "cannot read the prompt from stdin"};
  return text;
}

result<std::string> prompt_from(const std::string& argument, std::istream& in) {
  if (argument == "-")
    return read_all(in);
  return argument;
}

result<std::vector<token_id>> parse_token_ids(std::string_view text) {
  std::vector<token_id> ids;
  constexpr std::string_view separators = ", ";
  const std::string not_an_id = "this is no token id: '";
  for (size_t at = text.find_first_not_of(separators); at != std::string_view::npos;
       at = text.find_first_not_of(separators, at)) {
    auto word = text.substr(at, text.find_first_of(separators, at) - at);
    token_id id = 0;
    auto [stop, failed] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (failed != std::errc{} || stop != word.data() + word.size())
      return error{errc::invalid_argument,
                   not_an_id + std::string{word.substr(0, 20)}
                     + "'; allowed: numbers from 0 to 4294967295, separated by commas"};
    ids.push_back(id);
    at += word.size();
  }
  return ids;
}

} // namespace penstock::apps
