// Draws one token from a row of logits, as docs/numerics.md says. No state; any thread.
#pragma once

#include "base/request.hpp"
#include "gpu/kernels.hpp"

#include <span>

namespace penstock::gpu {

struct sampling_point {
  float temperature = 0.0F; ///< 0 is greedy.
  uint64_t seed = 0;
  uint32_t position = 0; ///< Absolute position of the token being sampled.
};

/// @param logits [vocabulary] f32, not empty.
/// @param scratch [vocabulary] f32, overwritten if temperature > 0.
/// @returns The token and its log-probability at temperature 1; errc::device_failed if a logit is
/// not finite.
[[nodiscard]] result<generated_token> sample(const kernel_table& kernels,
                                             std::span<const float> logits,
                                             std::span<float> scratch, const sampling_point& at);

} // namespace penstock::gpu
