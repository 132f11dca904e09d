// Host memory for KV blocks that had to leave the pool: a limit, and bytes in and out.
//
// Which blocks are worth it and which go when it is full is prefix_cache's business. Memory is
// taken as it is needed and kept for reuse: at most the limit and one block more, because a block
// on its way back may change places with one on its way out. One owner; no locks.
// Invariant: count() <= capacity().
#pragma once

#include "gpu/block_copier.hpp"

#include <cstdint>
#include <vector>

namespace penstock::gpu {

class host_tier {
public:
  /// Names the bytes of one block while they are here.
  using slot = uint32_t;

  /// @param copier Of the pool whose blocks come here.
  /// @param limit_bytes Room for as many whole blocks as fit; less than one: it stays empty.
  host_tier(const block_copier& copier, uint64_t limit_bytes);

  /// Copies a block of the pool to here. @pre has_room().
  [[nodiscard]] slot save(uint32_t block);
  /// Forgets a block's bytes.
  void drop(slot from);

  /// First half of the way back: the bytes no longer take room, but are still here.
  void lift(slot from);
  /// Second half: copies what was lifted into a block of the pool, and forgets it.
  void land(slot from, uint32_t block);
  /// Instead of the second half: it stays after all. @pre has_room().
  void put_back(slot from);

  [[nodiscard]] bool has_room() const noexcept { return count_ < capacity_; }
  [[nodiscard]] uint32_t count() const noexcept { return count_; }       ///< Blocks here.
  [[nodiscard]] uint32_t capacity() const noexcept { return capacity_; } ///< In blocks.
  [[nodiscard]] uint64_t block_bytes() const noexcept { return copier_.block_bytes(); }
  [[nodiscard]] uint64_t saved_count() const noexcept { return saved_; }   ///< Since the start.
  [[nodiscard]] uint64_t loaded_count() const noexcept { return loaded_; } ///< Since the start.

private:
  block_copier copier_;
  uint32_t capacity_;
  uint32_t count_ = 0;
  std::vector<std::vector<std::byte>> buffers_; // By slot.
  std::vector<slot> free_;
  uint64_t saved_ = 0;
  uint64_t loaded_ = 0;
};

} // namespace penstock::gpu
