// Random numbers that are a function of (key, counter), so that a sequence can be resumed anywhere.
#pragma once

#include <cstdint>

namespace penstock {

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): a bijection that passes BigCrush as a counter
/// hash.
[[nodiscard]] constexpr uint64_t mix64(uint64_t x) noexcept {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31U);
}

/// @returns 64 random bits for this key and counter.
[[nodiscard]] constexpr uint64_t random_bits(uint64_t key, uint64_t counter) noexcept {
  return mix64(mix64(key) ^ (counter * 0xD1342543DE82EF95ULL));
}

/// @returns Uniform in [0, 1), a multiple of 2^-24, exact in float.
[[nodiscard]] constexpr float random_unit(uint64_t key, uint64_t counter) noexcept {
  return static_cast<float>(random_bits(key, counter) >> 40U) * 0x1p-24F;
}

/// A stream of draws, for tests and simulation.
class rng {
public:
  explicit constexpr rng(uint64_t seed) noexcept : seed_(seed) {}
  constexpr uint64_t next() noexcept { return random_bits(seed_, counter_++); }
  /// @param bound Exclusive, > 0. Bias below 2^-32 for bounds below 2^32.
  constexpr uint64_t below(uint64_t bound) noexcept { return next() % bound; }
  constexpr float unit() noexcept { return random_unit(seed_, counter_++); }
  /// @returns A generator whose draws are independent of this one's.
  constexpr rng split() noexcept { return rng{next()}; }

private:
  uint64_t seed_;
  uint64_t counter_ = 0;
};

} // namespace penstock
