// Which KV blocks of one device are free, who holds the rest, and which use of a block this is.
//
// Bookkeeping only: no memory, no locks; one owner calls it. Blocks leave as a kv_lease and come
// back when the lease dies, so a request that ends in any way cannot leak them. Blocks that a
// reader may still write into go to quarantine instead and come back when that is over.
// Invariant: free + leased + cached + quarantined == capacity.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace penstock::gpu {

class block_pool;

/// Hold on blocks of one pool, shared with other leases where block_pool::share made it so.
/// Move-only. The pool must outlive it.
class kv_lease {
public:
  kv_lease() = default; ///< Holds nothing.
  kv_lease(kv_lease&& other) noexcept;
  kv_lease& operator=(kv_lease&& other) noexcept; ///< Gives back what it held.
  ~kv_lease();

  /// Block indices in [0, capacity), in the order of the tokens they hold.
  [[nodiscard]] std::span<const uint32_t> blocks() const noexcept { return blocks_; }

private:
  friend class block_pool;
  kv_lease(block_pool& pool, std::vector<uint32_t> blocks);

  block_pool* pool_ = nullptr; // Null if it holds nothing.
  std::vector<uint32_t> blocks_;
};

struct block_counts {
  uint32_t free = 0;
  uint32_t leased = 0;
  uint32_t cached = 0; ///< Held by nobody but kept for their content.
  uint32_t quarantined = 0;
  uint32_t capacity = 0;
};

/// Names blocks in quarantine; never reused.
using quarantine_id = uint64_t;

class block_pool {
public:
  /// @param generations One number per block, in memory of the caller's that outlives the pool,
  /// 8-byte aligned; other processes may map it and read it while this runs. Its size is the
  /// capacity, > 0. Numbers go on from what they hold.
  explicit block_pool(std::span<uint64_t> generations);
  ~block_pool();
  block_pool(const block_pool&) = delete;
  block_pool& operator=(const block_pool&) = delete;

  /// Takes `count` blocks, or none. O(count); allocates only the lease.
  /// @param count Blocks wanted, in [1, capacity()].
  /// @returns The lease, or errc::out_of_blocks if fewer than `count` are free.
  [[nodiscard]] result<kv_lease> acquire(uint32_t count);

  /// Adds `count` blocks to the end of a lease of this pool, or none.
  /// @param count >= 0. @returns errc::out_of_blocks if fewer are free; the lease is as before.
  [[nodiscard]] result<void> extend(kv_lease& lease, uint32_t count);

  /// Adds more holds on blocks that are leased or kept, at the end of `lease`.
  /// @pre The lease is of this pool or empty.
  void share(kv_lease& lease, std::span<const uint32_t> blocks);

  /// Moves what `more` holds to the end of `lease`. @pre Both are of this pool or empty.
  static void join(kv_lease& lease, kv_lease&& more);

  /// From now on a block whose last lease dies is cached, not free. @pre It is leased.
  void keep(uint32_t block);
  /// Gives a kept block up: free if nobody holds it, else when the last lease dies.
  void unkeep(uint32_t block);
  [[nodiscard]] bool is_kept(uint32_t block) const { return kept_[block]; }
  /// @returns Leases that hold the block.
  [[nodiscard]] uint32_t holders(uint32_t block) const { return holders_[block]; }

  /// Keeps a lease's blocks from reuse until end_quarantine.
  /// @pre The lease holds blocks of this, none of them shared or kept.
  [[nodiscard]] quarantine_id quarantine(kv_lease&& lease);

  /// Frees the blocks. @pre `id` is in quarantine.
  void end_quarantine(quarantine_id id);

  /// How often the block was given back: changes before anyone can get it again, so that a reader
  /// who finds it unchanged after a read has read one use of the block.
  [[nodiscard]] uint64_t generation(uint32_t block) const;

  [[nodiscard]] block_counts counts() const noexcept;
  [[nodiscard]] uint32_t capacity() const noexcept {
    return static_cast<uint32_t>(generations_.size());
  }

private:
  friend class kv_lease;
  void release(std::span<const uint32_t> blocks);
  void make_free(std::span<const uint32_t> blocks);
  void take(uint32_t count, std::vector<uint32_t>& into);

  std::span<uint64_t> generations_;
  std::vector<uint32_t> holders_; // [capacity] Leases per block.
  std::vector<bool> kept_;        // [capacity]
  std::vector<uint32_t> free_;    // LIFO: the block just freed is the one most likely in cache.
  std::map<quarantine_id, std::vector<uint32_t>> quarantined_;
  uint32_t leased_ = 0; // Blocks with a holder.
  uint32_t cached_ = 0; // Kept blocks without one.
  uint32_t quarantined_blocks_ = 0;
  quarantine_id next_quarantine_ = 1;
};

} // namespace penstock::gpu
