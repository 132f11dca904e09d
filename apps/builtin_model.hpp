// Where the model that ships with Penstock lies.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace penstock::apps {

/// @param model "builtin", or the path of a Hugging Face directory.
/// @returns A directory with a config.json, or errc::invalid_argument.
[[nodiscard]] result<std::string> model_directory(std::string_view model);

/// @returns The path of this executable; empty if the system does not say.
[[nodiscard]] std::string executable_path();

} // namespace penstock::apps
