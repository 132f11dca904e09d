// Which prompts are computed next on prefill, in which chunks, and what may be published after.
//
// First come, first served: started prompts go on before new ones start; a new one starts when its
// blocks and a slot are free. Only blocks that will not be written again are published, so the tail
// goes out with the last chunk. Decides; acts on nothing.
#pragma once

#include "actors/work.hpp"
#include "base/result.hpp"
#include "gpu/block_pool.hpp"
#include "gpu/device.hpp"
#include "gpu/prefix_cache.hpp"

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

namespace penstock::actors {

/// KV to compute for one attempt.
struct prefill_work {
  work_key key;
  schema::node_ref decode;
  std::vector<token_id> tokens; ///< More than `skip`.
  uint32_t skip = 0;            ///< Leading tokens that decode has; computed here all the same.
  time_us deadline = 0;
  time_us queued_at = 0;
  priority_class priority = priority_class::normal;
  std::string cache_scope = {};           ///< Whose cached prefixes it may use.
  uint32_t cache_tokens_max = UINT32_MAX; ///< Leading tokens that may be cached.
};

class prefill_queue {
public:
  struct options {
    uint32_t row_slots = 1;
    uint32_t step_tokens_max = 256; ///< Tokens per step over all prompts, > 0.
    uint32_t queue_max = 256;       ///< Prompts not yet started, at most.
    uint32_t block_tokens = 16;
  };
  /// @param pool, cache Outlive the queue; the cache is of that pool.
  prefill_queue(options limits, gpu::block_pool& pool, gpu::prefix_cache& cache);

  /// @returns errc::overloaded if the queue is full, errc::out_of_blocks if it can never fit,
  ///   errc::invalid_argument if there is nothing to compute.
  [[nodiscard]] result<void> add(prefill_work work);

  /// A prompt whose first chunk is in a step.
  struct begun {
    work_key key;
    schema::node_ref decode;
    uint32_t tokens = 0;
    uint32_t skip = 0;
    time_us deadline = 0;
  };
  struct planned {
    gpu::step step; ///< Without rows: nothing to do now.
    std::vector<begun> starts;
  };
  [[nodiscard]] planned plan(uint64_t number, time_us now);

  /// Blocks that became final with a step.
  struct publication {
    work_key key;
    uint32_t first_index = 0;
    std::vector<uint32_t> blocks;
    std::vector<uint64_t> generations;
    bool last = false;
  };
  [[nodiscard]] std::vector<publication> apply(const gpu::step_output& output, time_us now);

  /// Ends work: landed, cancelled or lost. Blocks are free once no step writes them.
  void drop(const work_key& key);

  [[nodiscard]] std::vector<work_key> late(time_us now) const;
  template <class Predicate>
  [[nodiscard]] std::vector<work_key> keys_if(Predicate wanted) const {
    std::vector<work_key> found;
    for (const auto& w : works_)
      if (!w.over && wanted(w.what))
        found.push_back(w.what.key);
    return found;
  }

  struct report {
    schema::node_ref decode;
    uint64_t queue_us = 0;
    uint64_t compute_us = 0;
    uint32_t computed_tokens = 0;
    uint32_t cached_tokens = 0; ///< Found here, not counting those that decode has.
    time_us deadline = 0;
  };
  /// @returns Where the time of a work went so far; nothing if unknown.
  [[nodiscard]] std::optional<report> report_on(const work_key& key) const;

  [[nodiscard]] uint32_t queued_tokens() const noexcept; ///< Not yet computed.

private:
  struct entry {
    prefill_work what;
    std::optional<gpu::kv_lease> lease; // Set once begun.
    uint32_t cached = 0;                // Leading tokens that were found, not computed.
    uint32_t slot = 0;
    uint32_t issued = 0;    // Tokens handed to the device.
    uint32_t computed = 0;  // Tokens whose step is done.
    uint32_t published = 0; // Blocks, from ordinal 0 on.
    uint32_t steps_out = 0;
    time_us begun_at = 0;
    time_us done_at = 0;
    bool over = false;
  };
  struct part {
    work_key key;
    uint32_t tokens = 0;
  };

  entry* find(const work_key& key);
  const entry* find(const work_key& key) const;
  bool start(entry& e, time_us now);
  void remove_if_quiet(const work_key& key);
  std::optional<publication> publish(entry& e);

  options limits_;
  gpu::block_pool& pool_;
  gpu::prefix_cache& cache_;
  std::list<entry> works_; // In order of arrival.
  std::vector<uint32_t> free_slots_;
  std::vector<std::vector<part>> steps_out_; // Oldest first.
};

} // namespace penstock::actors
