// What a node does in the cluster. A node may have several roles.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::cluster {

enum class role : uint8_t { gateway = 0, prefill = 1, decode = 2 };

[[nodiscard]] constexpr std::string_view name_of(role r) noexcept {
  switch (r) {
  case role::gateway:
    return "gateway";
  case role::prefill:
    return "prefill";
  case role::decode:
    return "decode";
  }
  return "unknown";
}

struct role_set {
  bool gateway = false;
  bool prefill = false;
  bool decode = false;

  bool operator==(const role_set&) const = default;
  [[nodiscard]] bool has(role r) const noexcept {
    return r == role::gateway ? gateway : r == role::prefill ? prefill : decode;
  }
  void add(role r) noexcept {
    (r == role::gateway ? gateway : r == role::prefill ? prefill : decode) = true;
  }
  [[nodiscard]] bool empty() const noexcept { return !gateway && !prefill && !decode; }
  /// @returns True if the node runs a model, so has a device and a KV pool.
  [[nodiscard]] bool computes() const noexcept { return prefill || decode; }
  /// @returns "gateway+prefill".
  [[nodiscard]] std::string text() const {
    std::string out;
    for (role r : {role::gateway, role::prefill, role::decode})
      if (has(r)) {
        if (!out.empty())
          out += '+';
        out += name_of(r);
      }
    return out;
  }
};

} // namespace penstock::cluster
