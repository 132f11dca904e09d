// Inputs and comparisons for the kernel tests: seeded values, bitwise equality, all paths.
#pragma once

#include "base/rng.hpp"
#include "gpu/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <iostream>
#include <span>
#include <vector>

namespace penstock::gpu {

/// @returns `count` values in (-1, 1), a function of the seed.
inline std::vector<float> random_values(uint64_t seed, size_t count, float size = 1.0F) {
  rng draws{seed};
  std::vector<float> out(count);
  for (auto& x : out)
    x = (2.0F * draws.unit() - 1.0F) * size;
  return out;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// The tables this CPU can run, the scalar one first. Says which are missing.
inline std::vector<const kernel_table*> runnable_tables() {
  std::vector<const kernel_table*> out{&scalar_kernels()};
  for (const auto path : {kernel_path::avx2, kernel_path::avx512}) {
    if (is_available(path))
      out.push_back(*kernels_for(path));
    else
      std::cerr << "[ no CPU ] kernel path " << static_cast<int>(path) << " not tested here\n";
  }
  return out;
}

} // namespace penstock::gpu
