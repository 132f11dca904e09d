// How one token is drawn from a row of logits, as a device is told. docs/numerics.md, "Sampling".
#pragma once

#include "base/request.hpp"

namespace penstock::gpu {

struct draw_rules {
  float temperature = 0.0F; ///< 0 is greedy: top_k, top_p and min_p do not matter.
  uint64_t seed = 0;        ///< Random numbers are a function of it and of the sampled position.
  uint32_t top_k = 0;       ///< 0: all.
  float top_p = 1.0F;       ///< In (0, 1].
  float min_p = 0.0F;       ///< In [0, 1].
  float repetition_penalty = 1.0F; ///< In (0, 10]; 1: none. Also for greedy.
  uint32_t top_logprobs = 0;       ///< Likeliest tokens to name; does not change what is drawn.
};

[[nodiscard]] inline draw_rules rules_of(const sampling_params& from) noexcept {
  return {from.temperature,        from.seed,        from.top_k, from.top_p, from.min_p,
          from.repetition_penalty, from.top_logprobs};
}

} // namespace penstock::gpu
