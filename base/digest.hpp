// Content digests: XXH3 from xxHash, which is not cryptographic. Detects accidents, not attackers.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock {

struct digest128 {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const digest128&) const = default;
  /// @returns 32 lower-case hex digits.
  [[nodiscard]] std::string hex() const;
};

[[nodiscard]] uint64_t digest64_of(std::span<const std::byte> bytes) noexcept;
[[nodiscard]] digest128 digest128_of(std::span<const std::byte> bytes, uint64_t seed = 0) noexcept;
[[nodiscard]] digest128 digest128_of(std::string_view bytes, uint64_t seed = 0) noexcept;

/// @returns A digest of both, in order: builds chains and trees.
[[nodiscard]] digest128 combine(const digest128& first, const digest128& second) noexcept;

} // namespace penstock
