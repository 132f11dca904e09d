// A numeric address and a port, as the cluster file writes them. No names are resolved.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::cluster {

struct endpoint {
  std::string address; ///< Numeric, canonical, without brackets: "127.0.0.1", "::1".
  uint16_t port = 0;   ///< In [1, 65535].
  bool v6 = false;

  bool operator==(const endpoint&) const = default;

  /// @returns True for 127.0.0.0/8 and ::1: traffic stays on this machine.
  [[nodiscard]] bool is_loopback() const noexcept;
  /// @returns True for 0.0.0.0 and ::, which listen everywhere and cannot be called.
  [[nodiscard]] bool is_wildcard() const noexcept;
  /// @returns "127.0.0.1:7600" or "[::1]:7600".
  [[nodiscard]] std::string text() const;
  /// @returns True if both cannot listen on one machine.
  [[nodiscard]] bool collides_with(const endpoint& other) const noexcept;
};

/// @param text `127.0.0.1:7600`, `[::1]:7600` or `localhost:7600`.
/// @returns The endpoint, or errc::invalid_argument with a hint for people.
[[nodiscard]] result<endpoint> parse_endpoint(std::string_view text);

} // namespace penstock::cluster
