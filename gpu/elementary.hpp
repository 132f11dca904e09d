// Logarithm, exponential, sine and cosine in binary64, and the rotary tables made of them.
//
// Our own, because libm's bits differ between versions. docs/numerics.md, "Elementary functions".
// For values wanted once per token or position; kernels have their own vector exp.
#pragma once

#include "model/config.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::gpu {

/// Natural logarithm. @param x Positive and normal.
[[nodiscard]] double log64(double x) noexcept;

/// @param x In [-700, 700].
[[nodiscard]] double exp64(double x) noexcept;

struct sine_cosine {
  double sine = 0.0;
  double cosine = 0.0;
};

/// @param x In [0, 2^20).
[[nodiscard]] sine_cosine sine_cosine64(double x) noexcept;

/// @returns [head_dim / 2] the angle per position of each rotary pair, scaled as the model says.
[[nodiscard]] std::vector<float> rotary_frequencies(const model::model_config& config);

/// Cosines and sines of one position. @param cosine, sine [frequencies.size()].
/// @param position < limits::context_tokens_max.
void rotary_row(std::span<const float> frequencies, uint32_t position, float* cosine, float* sine);

} // namespace penstock::gpu
