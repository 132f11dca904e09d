// Prompts from a command line: an argument, stdin, or token ids.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::apps {

/// @returns All of `in`, byte for byte, or errc::prompt_too_long past limits::prompt_bytes_max.
[[nodiscard]] result<std::string> read_all(std::istream& in);

/// @returns `argument`, or what `in` holds if the argument is "-".
[[nodiscard]] result<std::string> prompt_from(const std::string& argument, std::istream& in);

/// @param text Ids in decimal, separated by commas and spaces: "1, 80, 147".
/// @returns The ids, or errc::invalid_argument that names what is no id.
[[nodiscard]] result<std::vector<token_id>> parse_token_ids(std::string_view text);

} // namespace penstock::apps
