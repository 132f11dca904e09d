// What a node that computes owns beneath its actors: served memory, block pool, device, transports.
//
// Members are in order of construction; each may use those above it, and they go in reverse.
#pragma once

#include "actors/node.hpp"
#include "base/result.hpp"
#include "cluster/config.hpp"
#include "cluster/plan.hpp"
#include "fabric/shared_memory.hpp"
#include "fabric/transport.hpp"
#include "gpu/block_pool.hpp"
#include "gpu/host_device.hpp"
#include "gpu/prefix_cache.hpp"
#include "model/load.hpp"

#include <memory>
#include <vector>

namespace penstock::apps {

struct compute_parts {
  gpu::host_options options;
  fabric::shared_memory memory; ///< [generations][pool][scratch of the mover, on decode]
  std::span<std::byte> pool_bytes;
  std::span<std::byte> scratch; ///< Empty on prefill.
  std::unique_ptr<gpu::block_pool> pool;
  std::unique_ptr<gpu::host_tier> tier; ///< Of the cache; without capacity if none is configured.
  std::unique_ptr<gpu::prefix_cache> cache;
  std::unique_ptr<gpu::host_device> device;
  std::vector<std::unique_ptr<fabric::transport>> transports;
  std::vector<std::byte> descriptors; ///< How others reach the memory; empty on decode.

  /// @param model, time Outlive the parts.
  [[nodiscard]] static result<std::unique_ptr<compute_parts>>
  make(const cluster::cluster_config& config, const cluster::node_plan& plan,
       const model::loaded_model& model, const clock& time);

  /// Pins the calling thread to the first compute core, if the plan names one.
  [[nodiscard]] std::function<void()> pin() const;

  /// What must be equal between partners that exchange KV, apart from the numerics id.
  [[nodiscard]] std::vector<std::byte> geometry() const;
};

/// KV reads that decode keeps in flight per transfer, from the cluster file.
[[nodiscard]] fabric::transfer_limits transfer_limits_of(const cluster::fabric_config& config);

} // namespace penstock::apps
