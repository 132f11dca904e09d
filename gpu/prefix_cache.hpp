// Which blocks hold the KV of which token prefixes, so that a prompt that begins like an earlier
// one need not be computed or moved again.
//
// A tree: an entry is one full block, named by a 128-bit hash of its tokens and its parent's name
// (salted at the root), and its tokens are compared, so a collision costs a miss, never a wrong
// answer. Entries in use are shared by leases; idle ones are evicted leaf first, least recently
// used first, when acquire() needs room. Bookkeeping only; one owner; decides nothing about steps.
// Invariant: an entry's block is kept in the pool, and its parent is an entry too.
#pragma once

#include "base/digest.hpp"
#include "base/request.hpp"
#include "gpu/block_pool.hpp"

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace penstock::gpu {

class prefix_cache {
public:
  /// @param pool Outlives the cache; nobody else keeps its blocks.
  /// @param block_tokens Tokens per block, > 0.
  prefix_cache(block_pool& pool, uint32_t block_tokens);
  ~prefix_cache();
  prefix_cache(const prefix_cache&) = delete;
  prefix_cache& operator=(const prefix_cache&) = delete;

  /// Finds the longest cached prefix of whole blocks and holds it.
  /// @param tokens_max Tokens of the prefix at most.
  /// @param salt Only prefixes inserted with the same one are found.
  /// @returns A lease on its blocks in order; it holds blocks().size() * block_tokens tokens.
  [[nodiscard]] kv_lease find(std::span<const token_id> tokens, uint32_t tokens_max,
                              uint64_t salt = 0);

  /// Enters the whole blocks of a computed prefix. What is known already stays as it is.
  /// @param tokens Tokens whose KV is in `blocks`, in order; a part block at the end is ignored.
  /// @pre The blocks are leased, and nobody writes those entered any more.
  void insert(std::span<const token_id> tokens, std::span<const uint32_t> blocks,
              uint64_t salt = 0);

  /// As block_pool::acquire, evicting idle entries where blocks are short.
  [[nodiscard]] result<kv_lease> acquire(uint32_t count);

  /// Evicts every idle entry.
  void clear();

  [[nodiscard]] uint32_t count() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  [[nodiscard]] uint64_t evicted_count() const noexcept { return evicted_; }

private:
  struct entry {
    std::vector<token_id> tokens;
    digest128 parent; // The root's name for the first block.
    uint32_t block = 0;
    uint32_t children = 0;
    uint64_t used = 0; // When, by uses_.
  };
  using tree = std::map<digest128, entry>;

  [[nodiscard]] digest128 root(uint64_t salt) const;
  [[nodiscard]] static digest128 name_of(const digest128& parent, std::span<const token_id> tokens);
  void touch(tree::iterator at);
  bool evict_one();

  block_pool& pool_;
  uint32_t block_tokens_;
  tree entries_;
  std::set<std::pair<uint64_t, digest128>> leaves_; // By age.
  uint64_t uses_ = 0;
  uint64_t evicted_ = 0;
};

} // namespace penstock::gpu
