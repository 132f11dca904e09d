// Which cores each node of one host gets.
//
// Decode is bound by memory and must not be disturbed: it gets cores of its own first. Prefill is
// bound by compute: it gets most of the rest. Everything else (RPC, fabric, landing copies,
// heartbeats) shares one service core, the host's last. On two cores prefill computes on the
// service core; on one, everything shares it.
#pragma once

#include "cluster/config.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::cluster {

struct node_cores {
  std::vector<uint32_t> compute; ///< Ascending; empty if the node computes nothing.
  uint32_t service = 0;
  bool shared = false; ///< A compute core is another node's compute core too.
};

/// @param nodes The nodes of one host. Cores they name are kept.
/// @param cores The host's usable cores, ascending; not empty.
/// @returns An entry per node, in the same order.
[[nodiscard]] std::vector<node_cores> plan_cores(std::span<const node_config* const> nodes,
                                                 std::span<const uint32_t> cores);

} // namespace penstock::cluster
