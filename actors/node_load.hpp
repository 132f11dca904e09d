// How busy a node's roles are, as its heartbeats tell others. Written by roles, read by directory.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::actors {

/// One writer per field; readers may see fields of different moments.
struct node_load {
  std::atomic<uint32_t> queued_tokens{0};
  std::atomic<uint32_t> running_rows{0};
  std::atomic<uint32_t> blocks_free{0};
  std::atomic<uint32_t> blocks_capacity{0};
};

} // namespace penstock::actors
