// What is said about moving KV inside one role: decode and its mover, prefill and its publisher.
//
// Moved structs that never leave the process; between nodes it is schema::published and its kin.
#pragma once

#include "actors/protocol.hpp"
#include "base/result.hpp"

#include <string>
#include <vector>

namespace penstock::actors {

// --- decode and its mover -----------------------------------------------------------------------

/// How to reach the pool of one start of a prefill node.
struct kv_source {
  schema::node_ref node;
  std::vector<std::byte> descriptors;
  uint32_t blocks = 0;
};

/// Expect KV for `tokens` tokens of this work into `blocks`.
struct kv_expect {
  work_key key;
  schema::node_ref source;
  uint32_t first_index = 0;     ///< Ordinal of the first block that will come.
  std::vector<uint32_t> blocks; ///< Destination blocks, from ordinal first_index on.
};

struct kv_published {
  work_key key;
  schema::published what;
};

/// Stop reading for this work. Answered by kv_quiet once nothing lands any more.
struct kv_drop {
  work_key key;
};

/// The source's node is gone: every transfer from it fails.
struct kv_source_gone {
  schema::node_ref node;
};

struct kv_landed {
  work_key key;
  uint64_t transfer_us = 0;
  uint64_t exposed_us = 0;
  uint64_t bytes = 0;
  std::string transport;
};

/// The transfer failed and nothing lands any more: its blocks may be reused.
struct kv_failed {
  work_key key;
  error what;
};

/// Answer to kv_drop: the blocks may be reused.
struct kv_quiet {
  work_key key;
};

/// From a transport's thread to the mover.
struct kv_reads_done {
  schema::node_ref node;
  uint64_t opening = 0; ///< Which opening of the region, so that late ones are ignored.
  std::vector<fabric::read_done> done;
};

// --- prefill and its publisher ------------------------------------------------------------------

/// Digest these blocks and tell decode.
struct kv_publish {
  work_key key;
  schema::node_ref decode;
  uint64_t budget_us = 0;
  uint32_t first_index = 0;
  std::vector<uint32_t> blocks;
  std::vector<uint64_t> generations;
  bool last = false;
};

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_source)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_expect)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_published)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_drop)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_source_gone)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_landed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_quiet)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_reads_done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_publish)
