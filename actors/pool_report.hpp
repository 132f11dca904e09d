// What a role tells its probe of the pool and the prefix cache it owns. Used by prefill and decode.
#pragma once

#include "gpu/prefix_cache.hpp"
#include "ops/kv_probes.hpp"

namespace penstock::actors {

inline void report_pool(const ops::pool_probe& to, const gpu::block_pool& pool,
                        const gpu::prefix_cache& cache) {
  auto blocks = pool.counts();
  to.blocks(blocks.free, blocks.leased, blocks.cached, blocks.quarantined);
  auto did = cache.counts();
  to.cache({did.hit_pool * cache.block_tokens(), did.hit_host * cache.block_tokens(), did.evicted,
            did.host_saved, did.host_loaded, did.host_evicted, did.host_bytes, did.host_bytes_max});
}

} // namespace penstock::actors
