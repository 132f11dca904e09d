// Where a gateway listens: "host:port", "[::1]:port" or "unix:/path". Private to schema/.
#pragma once

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace penstock::schema {

/// @param listening Port 0 (any free port) is allowed.
/// @returns errc::invalid_argument, saying what is wrong and what is allowed.
[[nodiscard]] result<void> check_address(std::string_view address, bool listening);

/// @returns The path of a "unix:" address; empty for others.
[[nodiscard]] std::string unix_path_of(std::string_view address);

/// Removes a socket file to which nobody listens: what a killed process leaves behind.
void remove_dead_socket(const std::string& path);

} // namespace penstock::schema
