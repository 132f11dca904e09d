// A device without arithmetic: its tokens are hashes of the KV it reads back from the pool.
//
// A token's KV in each layer is a hash chained over the KV of the token before, the token id, its
// position and the layer, spread over every element of the token's K and V. The next token is a
// hash of every element of every token up to it, read through the block table. So a block that is
// missing, stale, torn, swapped or another request's changes the answer, and oracle_next() says
// what the answer should have been. Not thread-safe; deterministic; no model, no kernels.
#pragma once

#include "gpu/device.hpp"
#include "gpu/seen_tokens.hpp"

#include <deque>
#include <optional>

namespace penstock::gpu {

/// What decides the oracle's tokens. Devices and expectations must share it.
struct oracle_rules {
  uint32_t vocab = 1000;  ///< > 3; ids 3 .. vocab-1 are drawn, ids 0 and 1 never.
  token_id end = 2;       ///< The end-of-sequence token.
  uint32_t end_every = 0; ///< About one token in so many is `end`; 0: none.
  uint32_t layers = 2;
  uint32_t kv_heads = 1;
  uint32_t head_dim = 8; ///< >= 2.
  uint32_t block_tokens = 16;
};

[[nodiscard]] kv_layout oracle_layout(const oracle_rules& rules, uint32_t blocks);

/// @param tokens All tokens so far, not empty.
/// @param barred Ids not to sample.
/// @returns What a faultless device samples after them; the logprob too is a hash.
[[nodiscard]] generated_token oracle_next(const oracle_rules& rules,
                                          std::span<const token_id> tokens,
                                          const sampling_params& sampling = {},
                                          std::span<const token_id> barred = {});

/// @returns The ids a request for `prompt` must get: up to tokens_max, or before the first token
/// that ends it.
[[nodiscard]] std::vector<token_id> oracle_answer(const oracle_rules& rules,
                                                  std::vector<token_id> prompt,
                                                  const sampling_params& sampling);

class oracle_device final : public device {
public:
  /// @param blocks Blocks in the pool, > 0.
  /// @param pool Caller's memory of that layout's pool_bytes(), 4-byte aligned; empty: its own.
  oracle_device(const oracle_rules& rules, device_limits at_most, uint32_t blocks,
                std::span<std::byte> pool = {});

  /// Ends the step at once, or, while held, when run_next() is called.
  void submit(step work, done_handler done) override;
  [[nodiscard]] const device_limits& limits() const noexcept override { return limits_; }
  [[nodiscard]] const kv_layout& layout() const noexcept override { return layout_; }
  [[nodiscard]] std::span<std::byte> pool() noexcept override { return pool_; }
  [[nodiscard]] std::string numerics_id() const override { return "oracle"; }

  /// From now on steps wait for run_next(), or again end at once. @pre None is waiting.
  void hold(bool held);
  /// Runs the oldest waiting step. @returns False if none waits.
  bool run_next();
  [[nodiscard]] size_t waiting() const noexcept { return waiting_.size(); }

  /// The next step to run fails with errc::device_failed and this detail.
  void fail_next(std::string detail) { failure_ = std::move(detail); }

  /// What every step reports as its compute_us, per token fed.
  void set_token_cost_us(uint64_t cost) noexcept { token_cost_us_ = cost; }

  [[nodiscard]] uint64_t steps_run() const noexcept { return steps_run_; }
  [[nodiscard]] uint64_t tokens_fed() const noexcept { return tokens_fed_; }

private:
  struct waiting_step {
    step work;
    done_handler done;
  };

  void check(const step& work) const;
  void run(waiting_step next);
  void feed(const row_run& row);
  [[nodiscard]] generated_token draw(const row_run& row) const;
  [[nodiscard]] size_t element_offset(const row_run& row, uint32_t layer, uint32_t position,
                                      uint32_t index) const;
  [[nodiscard]] uint32_t read(size_t offset) const;

  const oracle_rules rules_;
  const device_limits limits_;
  const kv_layout layout_;
  std::vector<uint32_t> own_;
  std::span<std::byte> pool_;
  std::vector<std::optional<token_id>> last_token_; ///< [row_slots]
  std::vector<seen_tokens> seen_;                   ///< [row_slots]
  std::deque<waiting_step> waiting_;
  bool held_ = false;
  std::optional<std::string> failure_;
  uint64_t token_cost_us_ = 1;
  uint64_t steps_run_ = 0;
  uint64_t tokens_fed_ = 0;
};

} // namespace penstock::gpu
