// Where things lie in the memory a source serves: generations first, then the pool.
//
//   [u64 generation x blocks, zero-padded to 4096][pool bytes]
// A generation is how often its block was given back. The owner raises it before anyone else can
// get the block, so a reader who finds, after its reads, the generation that was published has read
// one use of the block and not a mixture. Arithmetic and loads only; gpu::block_pool writes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::fabric {

struct generation_table {
  static constexpr uint64_t alignment = 4096; ///< The pool starts on a page.
  static constexpr uint64_t entry_bytes = sizeof(uint64_t);

  uint32_t blocks = 0;

  /// Offset of the pool: bytes of the table with its padding.
  [[nodiscard]] constexpr uint64_t pool_offset() const noexcept {
    return (blocks * entry_bytes + alignment - 1) / alignment * alignment;
  }
  /// Bytes a source must serve for a pool of `pool_bytes`.
  [[nodiscard]] constexpr uint64_t served_bytes(uint64_t pool_bytes) const noexcept {
    return pool_offset() + pool_bytes;
  }
  /// Offset of one block's generation. @param block In [0, blocks).
  [[nodiscard]] static constexpr uint64_t entry_offset(uint32_t block) noexcept {
    return block * entry_bytes;
  }

  /// The owner's view: the entries of memory that starts with a table.
  /// @pre `served` is 8-byte aligned and holds the table.
  [[nodiscard]] std::span<uint64_t> entries(std::span<std::byte> served) const noexcept {
    return {reinterpret_cast<uint64_t*>(served.data()), blocks};
  }
  /// The owner's view: the pool behind the table.
  [[nodiscard]] std::span<std::byte> pool(std::span<std::byte> served) const noexcept {
    return served.subspan(pool_offset());
  }

  /// Loads one entry that another process may be raising. Later loads are not moved before it.
  [[nodiscard]] static uint64_t load(uint64_t& entry) noexcept {
    return std::atomic_ref<uint64_t>{entry}.load(std::memory_order_acquire);
  }
};

} // namespace penstock::fabric
