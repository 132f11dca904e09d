// Which blocks hold the KV of which token prefixes, so that a prompt that begins like an earlier
// one need not be computed or moved again.
//
// Entries in use are shared by leases; idle ones leave the pool leaf first, least recently used
// first, when blocks are short. With a host tier their bytes move there, and find() brings them
// back; without, or when the tier is full, they are forgotten. One owner; decides nothing about
// steps. How entries are told apart is prefix_tree's business.
// Invariant: an entry is in the pool, its block kept there, or in host memory, below those of its
// prefix that are in the pool; never in both.
#pragma once

#include "gpu/block_pool.hpp"
#include "gpu/host_tier.hpp"
#include "gpu/prefix_tree.hpp"

#include <span>
#include <string_view>

namespace penstock::gpu {

/// A lease on the blocks of a found prefix, in order.
struct prefix_hit : kv_lease {
  uint32_t from_host = 0; ///< How many of the blocks, the last ones, came from host memory.
};

/// Whether more blocks would find room in host memory.
enum class host_room : uint8_t {
  none,  ///< Never all of them.
  taken, ///< Yes, but less recently used ones would go.
  free,  ///< Yes, beside all that is there.
};

/// What a cache did since it was made, and what it holds of host memory now.
struct prefix_cache_counts {
  uint64_t hit_pool = 0;     ///< Blocks of counted hits that were in the pool.
  uint64_t hit_host = 0;     ///< Blocks of counted hits that came from host memory.
  uint64_t evicted = 0;      ///< Blocks that left the pool, to host memory or for good.
  uint64_t host_saved = 0;   ///< Blocks copied to host memory.
  uint64_t host_loaded = 0;  ///< Blocks copied back.
  uint64_t host_evicted = 0; ///< Blocks forgotten because host memory was full.
  uint64_t host_bytes = 0;
  uint64_t host_bytes_max = 0;
};

class prefix_cache {
public:
  /// Longest scope that is cached; with a longer one nothing is entered and nothing found.
  static constexpr size_t scope_bytes_max = 256;

  /// @param pool Outlives the cache; nobody else keeps its blocks.
  /// @param block_tokens Tokens per block, > 0.
  /// @param tier Of the same pool, used by nobody else; outlives the cache. Null: none.
  prefix_cache(block_pool& pool, uint32_t block_tokens, host_tier* tier = nullptr);
  ~prefix_cache();
  prefix_cache(const prefix_cache&) = delete;
  prefix_cache& operator=(const prefix_cache&) = delete;

  /// Finds the longest cached prefix of whole blocks and holds it. What of it is in host memory
  /// comes back into the pool as far as blocks are free or idle; beyond, the hit ends earlier.
  /// @param tokens_max Tokens of the prefix at most.
  /// @param scope Any bytes, e.g. a tenant; only what was entered with the same is found.
  /// @returns A lease on its blocks in order; it holds blocks().size() * block_tokens tokens.
  [[nodiscard]] prefix_hit find(std::span<const token_id> tokens, uint32_t tokens_max,
                                std::string_view scope = {});

  /// A row starts with this hit. Looking up again what could not start yet is not counted.
  void count_hit(const prefix_hit& hit) noexcept;

  /// Enters the whole blocks of a computed prefix. What is known already stays as it is.
  /// @param tokens Tokens whose KV is in `blocks`, in order; a part block at the end is ignored.
  /// @pre The blocks are leased, and nobody writes those entered any more.
  void insert(std::span<const token_id> tokens, std::span<const uint32_t> blocks,
              std::string_view scope = {});

  /// As block_pool::acquire, evicting idle entries where blocks are short.
  [[nodiscard]] result<kv_lease> acquire(uint32_t count);

  /// Forgets every idle entry and everything in host memory.
  void clear();

  /// @returns Whether `blocks` more would find room in host memory, were they evicted now.
  [[nodiscard]] host_room room_for(uint32_t blocks) const noexcept;

  /// Entries, in the pool and in host memory.
  [[nodiscard]] uint32_t count() const noexcept { return tree_.count(); }
  [[nodiscard]] uint32_t scope_count() const noexcept { return tree_.scope_count(); }
  [[nodiscard]] uint32_t block_tokens() const noexcept { return block_tokens_; }
  [[nodiscard]] prefix_cache_counts counts() const noexcept;

private:
  using node = prefix_tree::node;
  using place = prefix_tree::place;

  bool restore(node* at, prefix_hit& into);
  void enter_pool(node* at, uint32_t block);
  enum class eviction : uint8_t { save, forget };
  bool evict_one(eviction how);
  bool forget_one_in_host();

  block_pool& pool_;
  const uint32_t block_tokens_;
  host_tier* tier_; // Null also if it has no capacity.
  prefix_tree tree_;
  prefix_cache_counts counts_; // But what the tier knows.
};

} // namespace penstock::gpu
