// Which prefill and which decode node serve a request.
//
// Pure: a view and a request in, two nodes out. Least loaded first, ties broken by node index, so
// the same view gives the same answer everywhere. A node to avoid is taken only if nothing else is
// left: a second try on it beats none.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"
#include "cluster/roles.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::cluster {

/// What the directory knows about one live node.
struct candidate {
  node_index node = 0;
  incarnation_id incarnation = 0;
  role_set roles;
  bool ready = false;         ///< Alive, model loaded, not draining.
  uint64_t queued_tokens = 0; ///< Prefill: prompt tokens that wait.
  uint32_t running_rows = 0;  ///< Decode: rows booked or running.
  uint32_t rows_max = 1;      ///< Decode: rows at most, > 0.
  uint32_t blocks_free = 0;   ///< Of the KV pool.
  uint32_t blocks_capacity = 0;
  uint32_t block_tokens = 16; ///< Tokens per block, > 0.
};

/// One start of one node.
struct node_start {
  node_index node = 0;
  incarnation_id incarnation = 0;
  bool operator==(const node_start&) const = default;
};

struct placement_request {
  uint32_t prompt_tokens = 0;
  uint32_t tokens_max = 0;           ///< Already cut to what the context leaves.
  std::span<const node_start> avoid; ///< Failed this request before; later starts are not meant.
};

struct placement {
  node_start prefill;
  node_start decode;
  bool operator==(const placement&) const = default;
};

/// @returns The pair; errc::unavailable naming the role no ready node has, or
///   errc::prompt_too_long if no ready pool could ever hold the request.
[[nodiscard]] result<placement> place(std::span<const candidate> view,
                                      const placement_request& request);

} // namespace penstock::cluster
