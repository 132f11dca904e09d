#include "base/digest.hpp"

#include <xxhash.h>

#include <array>

namespace penstock {

std::string digest128::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (auto word : {high, low})
    for (int shift = 60; shift >= 0; shift -= 4)
      out += digits[(word >> static_cast<unsigned>(shift)) & 15U];
  return out;
}

uint64_t digest64_of(std::span<const std::byte> bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

digest128 digest128_of(std::span<const std::byte> bytes, uint64_t seed) noexcept {
  auto d = XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed);
  return {d.high64, d.low64};
}

digest128 digest128_of(std::string_view bytes, uint64_t seed) noexcept {
  return digest128_of(std::as_bytes(std::span{bytes.data(), bytes.size()}), seed);
}

digest128 combine(const digest128& first, const digest128& second) noexcept {
  std::array<uint64_t, 4> words{first.high, first.low, second.high, second.low};
  return digest128_of(std::as_bytes(std::span{words}));
}

} // namespace penstock
