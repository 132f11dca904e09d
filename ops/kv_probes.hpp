// What is reported of KV: hand-overs where they land, and each role's pool and prefix cache.
//
// As all probes (see probes.hpp) they only count; probes.cpp makes them.
#pragma once

#include "base/errc.hpp"
#include "ops/instruments.hpp"

#include <array>
#include <cstdint>

namespace penstock::ops {

enum class transfer_result : uint8_t { done, cancelled, failed, stale, expired };

/// Transfers over one transport, counted where they land.
struct transfer_probe {
  /// One hand-over ended. @param bytes Read and verified.
  void ended(transfer_result how, uint64_t bytes, uint64_t took_us) const;
  /// A unit was read again. @param why transfer_failed or stale_data.
  void retried(errc why) const { (why == errc::stale_data ? retry_stale_ : retry_failed_).add(); }

  std::array<counter, 5> ended_;
  counter bytes_, retry_failed_, retry_stale_;
  histogram size_, time_;
};

/// What the prefix cache of a role did since the start, and what it holds of host memory.
struct cache_figures {
  uint64_t hit_tokens_pool = 0; ///< Found by prompts that started: in the pool,
  uint64_t hit_tokens_host = 0; ///< and brought back from host memory.
  uint64_t evicted_blocks = 0;  ///< Left the pool.
  uint64_t host_saved_blocks = 0;
  uint64_t host_loaded_blocks = 0;
  uint64_t host_evicted_blocks = 0;
  uint64_t host_bytes = 0;
  uint64_t host_bytes_max = 0;
};

/// The KV pool of one role on this node, and its prefix cache.
struct pool_probe {
  /// free + leased + cached + quarantined = capacity.
  void blocks(uint32_t free, uint32_t leased, uint32_t cached, uint32_t quarantined) const;
  /// Totals, none of them lower than before. From one thread.
  void cache(const cache_figures& now) const;

  gauge free_, leased_, cached_, quarantined_;
  counter hit_pool_, hit_host_, evicted_, host_saved_, host_loaded_, host_evicted_;
  gauge host_used_, host_max_;
};

} // namespace penstock::ops
