// Where the model that ships with Penstock lies.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace penstock::apps {

/// @param model "builtin", or the path of a Hugging Face directory.
/// @param needed The file that makes it what the caller wants.
/// @returns A directory with that file, or errc::invalid_argument.
[[nodiscard]] result<std::string> model_directory(std::string_view model,
                                                  std::string_view needed = "config.json");

/// @returns The path of this executable; empty if the system does not say.
[[nodiscard]] std::string executable_path();

} // namespace penstock::apps
