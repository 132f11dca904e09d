// Which rows step next on decode, and what a step's tokens mean for them. Decides; acts on nothing.
//
// A row is fed one token per step: first the last token of its sequence, then its slot's last
// sampled one, so up to limits::steps_queued_max steps may be out before their tokens are known. A
// row that ends in step n may already be in step n+1: that token is counted as discarded, and the
// row's slot and blocks stay taken until no step that names them is out.
#pragma once

#include "actors/work.hpp"
#include "base/limits.hpp"
#include "gpu/block_pool.hpp"
#include "gpu/device.hpp"
#include "gpu/prefix_cache.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace penstock::actors {

/// A sequence that is ready to decode: all its KV but the last token's is in `lease`.
struct decode_row {
  work_key key;
  std::vector<token_id> tokens; ///< Prompt, then tokens of earlier attempts; not empty.
  uint32_t prompt_tokens = 0;
  sampling_params sampling;
  std::vector<token_id> end_ids; ///< The model's; the sampling's come on top.
  gpu::kv_lease lease;           ///< Covers every position the row may reach.
  time_us deadline = 0;
  std::string cache_scope = {};           ///< Whose its blocks are, once cached.
  uint32_t cache_tokens_max = UINT32_MAX; ///< Leading tokens that may be cached.
};

class decode_batch {
public:
  /// @param context_max Positions a row may have, > 1.
  /// @param cache Gets the blocks of rows that finish. Outlives the batch.
  decode_batch(uint32_t row_slots, uint32_t context_max, gpu::prefix_cache& cache);

  /// @pre has_slot().
  void add(decode_row row);
  [[nodiscard]] bool has_slot() const noexcept { return !free_slots_.empty(); }

  /// Drops a row, now or when the steps that name it are done. Unknown keys are ignored.
  void drop(const work_key& key);

  /// @returns The next step, or one without rows if nothing can step.
  [[nodiscard]] gpu::step plan(uint64_t number);

  /// One row's share of a finished step.
  struct progress {
    work_key key;
    uint32_t first_index = 0;
    std::vector<generated_token> generated; ///< At most one; end tokens are not in it.
    bool finished = false;
    finish_reason reason = finish_reason::stop;
  };
  /// Takes a step's output, in the order of plan().
  [[nodiscard]] std::vector<progress> apply(const gpu::step_output& output);

  /// @returns Rows past their deadline, not yet dropped.
  [[nodiscard]] std::vector<work_key> late(time_us now) const;
  /// @returns Rows that `wanted` says yes to, in key order.
  template <class Predicate>
  [[nodiscard]] std::vector<work_key> keys_if(Predicate wanted) const {
    std::vector<work_key> found;
    for (const auto& [key, row] : rows_)
      if (!row.over && wanted(key))
        found.push_back(key);
    return found;
  }

  [[nodiscard]] uint32_t running_count() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  /// Tokens sampled for rows that had already ended.
  [[nodiscard]] uint64_t discarded_count() const noexcept { return discarded_; }

private:
  struct running {
    decode_row what;
    std::vector<token_id> ends;      // Tokens that end it.
    std::vector<token_id> generated; // In this attempt.
    uint32_t slot = 0;
    uint32_t issued = 0;    // Tokens asked of the device in this attempt.
    uint32_t received = 0;  // Tokens the device answered.
    uint32_t allowed = 0;   // Tokens this attempt may generate.
    uint32_t steps_out = 0; // Unfinished steps that name the slot.
    bool over = false;      // Ended or dropped; waits for steps_out == 0.
  };

  [[nodiscard]] gpu::row_run run_of(const running& row) const;
  void remove_if_quiet(std::map<work_key, running>::iterator row);
  void remember(const running& row);
  progress take(running& row, const generated_token& token);

  uint32_t context_max_;
  gpu::prefix_cache& cache_;
  std::map<work_key, running> rows_; // Ordered: plans must not depend on hashing.
  std::vector<uint32_t> free_slots_;
  std::vector<std::vector<work_key>> steps_out_; // Rows of each unfinished step, oldest first.
  uint64_t discarded_ = 0;
};

} // namespace penstock::actors
