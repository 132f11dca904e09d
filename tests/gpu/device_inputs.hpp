// What the device tests feed: a small network, prompts, schedules, a clock; and what comes out.
#pragma once

#include "base/clock.hpp"
#include "base/request.hpp"
#include "base/rng.hpp"
#include "model/tiny.hpp"

#include <cstring>
#include <vector>

namespace penstock::gpu {

/// A small network whose down projection has three blocks of K, with grouped-query attention.
inline model::model_config small_config() {
  auto config = model::tiny_config();
  config.hidden = 64;
  config.intermediate = 1536;
  config.heads = 8;
  config.kv_heads = 2;
  config.head_dim = 8;
  config.vocab = 99;
  return config;
}

/// A clock that a test moves.
class still_clock final : public clock {
public:
  [[nodiscard]] time_us now() const noexcept override { return now_; }
  time_us now_ = 0;
};

struct schedule {
  uint32_t chunk = 1000; ///< Prompt tokens per row and step.
  uint32_t threads = 1;
  uint32_t block_tokens = 16;
  uint64_t order_seed = 0;  ///< Physical order of the blocks; 0: ascending.
  uint32_t first_row = 0;   ///< Number of the first row, which its sampling depends on.
  bool swap_blocks = false; ///< A mutant: two blocks of each table change places at the end.
};

struct row_result {
  std::vector<float> logits; ///< Of every sampled position, one after the other.
  std::vector<token_id> tokens;
  std::vector<float> logprobs;

  [[nodiscard]] bool same_bits_as(const row_result& other) const {
    return tokens == other.tokens && logits.size() == other.logits.size()
           && std::memcmp(logits.data(), other.logits.data(), logits.size() * 4) == 0
           && std::memcmp(logprobs.data(), other.logprobs.data(), logprobs.size() * 4) == 0;
  }
};

/// @returns `count` random prompts of 200 and a few tokens: more than three attention tiles.
inline std::vector<std::vector<token_id>> long_prompts(uint32_t count, uint32_t vocab) {
  rng draws{3};
  std::vector<std::vector<token_id>> out(count);
  for (auto& prompt : out) {
    prompt.resize(200 + draws.below(9));
    for (auto& token : prompt)
      token = static_cast<token_id>(draws.below(vocab));
  }
  return out;
}

} // namespace penstock::gpu
