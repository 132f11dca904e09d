// Copies whole KV blocks between a pool and plain memory: all layers' pieces, one after the other.
//
// Synchronous, on the calling thread. Decides nothing and keeps nothing.
#pragma once

#include "gpu/kv_layout.hpp"

#include <cstring>
#include <span>

namespace penstock::gpu {

class block_copier {
public:
  /// @param pool layout.pool_bytes() long at least; outlives the copier.
  block_copier(std::span<std::byte> pool, const kv_layout& layout) : pool_(pool), layout_(layout) {
    PS_CHECK(pool.size() >= layout.pool_bytes());
  }

  /// Bytes of one block over all layers.
  [[nodiscard]] size_t block_bytes() const noexcept {
    return layout_.piece_bytes() * layout_.layers;
  }

  /// @param into block_bytes() long. @pre Nobody writes the block.
  void save(uint32_t block, std::span<std::byte> into) const {
    PS_CHECK(block < layout_.blocks && into.size() == block_bytes());
    const auto size = layout_.piece_bytes();
    for (uint32_t layer = 0; layer < layout_.layers; ++layer)
      std::memcpy(into.data() + layer * size, pool_.data() + layout_.piece_offset(layer, block),
                  size);
  }

  /// @param from block_bytes() long. @pre Nobody uses the block.
  void load(std::span<const std::byte> from, uint32_t block) const {
    PS_CHECK(block < layout_.blocks && from.size() == block_bytes());
    const auto size = layout_.piece_bytes();
    for (uint32_t layer = 0; layer < layout_.layers; ++layer)
      std::memcpy(pool_.data() + layout_.piece_offset(layer, block), from.data() + layer * size,
                  size);
  }

private:
  std::span<std::byte> pool_;
  kv_layout layout_;
};

} // namespace penstock::gpu
