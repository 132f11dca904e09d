// Draws one token from a row of logits, as docs/numerics.md says. No state; any thread.
#pragma once

#include "gpu/draw_rules.hpp"
#include "gpu/kernels.hpp"

#include <span>
#include <vector>

namespace penstock::gpu {

struct sampling_point {
  draw_rules rules;
  uint32_t position = 0;                 ///< Absolute position of the token being sampled.
  std::span<const token_id> seen = {};   ///< What the repetition penalty is on, each id once.
  std::span<const token_id> barred = {}; ///< Not to be drawn.
};

/// What sampling overwrites, one per worker.
struct sampling_scratch {
  explicit sampling_scratch(size_t vocab) : logits(vocab), weights(vocab), order(vocab) {}
  /// @returns Bytes that one holds.
  [[nodiscard]] static constexpr size_t bytes_for(size_t vocab) noexcept {
    return vocab * (2 * sizeof(float) + sizeof(token_id));
  }

  std::vector<float> logits;   ///< [vocab] after penalty and bars.
  std::vector<float> weights;  ///< [vocab]
  std::vector<token_id> order; ///< [vocab] ids, the likeliest first.
};

/// @param logits [vocab] f32, not empty.
/// @param scratch For that many, at least.
/// @returns The token and its log-probability, by `logits` alone, at temperature 1, and if asked
/// for the likeliest tokens (all, if there are fewer) with theirs; errc::device_failed if a logit
/// is not finite.
[[nodiscard]] result<generated_token> sample(const kernel_table& kernels,
                                             std::span<const float> logits,
                                             sampling_scratch& scratch, const sampling_point& at);

} // namespace penstock::gpu
