// What a cluster file means on a machine and with a model: cores, memory, blocks, links.
//
// Pure: facts in, plan out. Refuses what cannot work, with the numbers. Nodes of other hosts are
// planned too, but their cores and memory are checked only where they run.
#pragma once

#include "cluster/config.hpp"
#include "cluster/machine.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

/// Counted for a process besides weights and KV: code, threads, scratch, messages.
inline constexpr uint64_t process_bytes = uint64_t{48} << 20U;

/// What a plan must know about the model. All sizes are of one node.
struct model_facts {
  std::string name;                  ///< As people call it.
  std::string digest;                ///< Of the weights, hex; may be empty.
  uint32_t context = 0;              ///< Tokens, > 0.
  uint32_t layers = 0;               ///< > 0.
  uint32_t kv_heads = 0;             ///< > 0.
  uint32_t head_dim = 0;             ///< > 0.
  uint32_t kv_element_bytes = 4;     ///< Of the KV cache's dtype: 4 or 2.
  uint64_t weight_bytes_prefill = 0; ///< In memory on a prefill node, packed.
  uint64_t weight_bytes_decode = 0;  ///< In memory on a decode node, packed.

  /// @returns Bytes of K and V of all layers for one block.
  [[nodiscard]] uint64_t block_bytes(uint32_t block_tokens) const noexcept {
    return uint64_t{2} * layers * kv_heads * head_dim * kv_element_bytes * block_tokens;
  }
};

struct node_plan {
  uint32_t index = 0; ///< In cluster_config::nodes.
  std::string name;
  role_set roles;
  bool here = true;                    ///< Runs on the machine the plan was made on.
  std::vector<uint32_t> compute_cores; ///< Empty if it computes nothing, or is elsewhere and free.
  uint32_t service_core = 0;
  uint32_t kv_blocks = 0; ///< 0 on a node without a pool.
  uint64_t kv_bytes = 0;
  uint64_t weight_bytes = 0;
  uint64_t host_cache_bytes = 0;
  uint64_t total_bytes = 0; ///< kv + weights + host cache + process_bytes.
};

enum class link_kind : uint8_t { control, kv };

struct link_plan {
  uint32_t from = 0; ///< Node index. Control goes both ways; KV flows from prefill to decode.
  uint32_t to = 0;
  link_kind kind = link_kind::control;
  std::string transport; ///< "tcp" for control; "mapped" or a provider for KV.
  bool clear = false;    ///< Leaves the machine unencrypted.
};

struct plan {
  std::vector<node_plan> nodes; ///< In file order.
  std::vector<link_plan> links;
  uint64_t memory_bytes_here = 0; ///< Sum over the nodes of this machine.
  machine_facts machine;
  model_facts model;
  bool tenants_apart = false;    ///< As the config's.
  std::vector<mistake> mistakes; ///< Not empty: must not be started.
  std::vector<mistake> warnings;

  /// @returns The transport of KV between two nodes; empty if none flows.
  [[nodiscard]] std::string_view kv_transport(uint32_t prefill, uint32_t decode) const noexcept;
};

/// @param config Without mistakes.
/// @param model Its counts are > 0.
[[nodiscard]] plan make_plan(const cluster_config& config, const machine_facts& machine,
                             const model_facts& model);

/// @returns The plan as aligned text for a terminal, at most 100 columns wide, with its warnings.
[[nodiscard]] std::string to_text(const plan& p);

} // namespace penstock::cluster
