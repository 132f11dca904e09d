// Which blocks hold the KV of which token prefixes, so that a prompt that begins like an earlier
// one need not be computed or moved again.
//
// A tree per scope: an entry is one full block, found by its parent and its tokens, which are
// compared in full. No hash decides anything, so neither a wrong answer nor one scope's content in
// another can come of a collision. Entries in use are shared by leases; idle ones are evicted leaf
// first, least recently used first, when acquire() needs room. Bookkeeping only; one owner; decides
// nothing about steps.
// Invariant: an entry's block is kept in the pool, its parent is an entry too or a scope's root,
// and a scope has a root as long as it has entries.
#pragma once

#include "base/request.hpp"
#include "gpu/block_pool.hpp"

#include <compare>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::gpu {

/// A lease on the blocks of a found prefix, in order.
struct prefix_hit : kv_lease {
  uint32_t from_host = 0; ///< How many of the blocks, the last ones, came from host memory.
};

class prefix_cache {
public:
  /// Longest scope that is cached; with a longer one nothing is entered and nothing found.
  static constexpr size_t scope_bytes_max = 256;

  /// @param pool Outlives the cache; nobody else keeps its blocks.
  /// @param block_tokens Tokens per block, > 0.
  prefix_cache(block_pool& pool, uint32_t block_tokens);
  ~prefix_cache();
  prefix_cache(const prefix_cache&) = delete;
  prefix_cache& operator=(const prefix_cache&) = delete;

  /// Finds the longest cached prefix of whole blocks and holds it.
  /// @param tokens_max Tokens of the prefix at most.
  /// @param scope Any bytes, e.g. a tenant; only what was entered with the same is found.
  /// @returns A lease on its blocks in order; it holds blocks().size() * block_tokens tokens.
  [[nodiscard]] prefix_hit find(std::span<const token_id> tokens, uint32_t tokens_max,
                                std::string_view scope = {});

  /// Enters the whole blocks of a computed prefix. What is known already stays as it is.
  /// @param tokens Tokens whose KV is in `blocks`, in order; a part block at the end is ignored.
  /// @pre The blocks are leased, and nobody writes those entered any more.
  void insert(std::span<const token_id> tokens, std::span<const uint32_t> blocks,
              std::string_view scope = {});

  /// As block_pool::acquire, evicting idle entries where blocks are short.
  [[nodiscard]] result<kv_lease> acquire(uint32_t count);

  /// Evicts every idle entry.
  void clear();

  [[nodiscard]] uint32_t count() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  [[nodiscard]] uint32_t scope_count() const noexcept {
    return static_cast<uint32_t>(roots_.size());
  }
  [[nodiscard]] uint64_t evicted_count() const noexcept { return evicted_; }

private:
  struct scope_root {
    uint64_t id = 0; // As an entry's: never used twice.
    uint32_t entries = 0;
  };
  using scopes = std::map<std::string, scope_root, std::less<>>;

  /// What an entry is found by: a view to look up, a vector to keep.
  template <class Tokens>
  struct name {
    uint64_t parent = 0; // Id of the entry or root above.
    Tokens tokens;
  };
  using key = name<std::vector<token_id>>;
  using key_view = name<std::span<const token_id>>;
  struct by_name {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      if (a.parent != b.parent)
        return a.parent < b.parent;
      return std::lexicographical_compare(a.tokens.begin(), a.tokens.end(), b.tokens.begin(),
                                          b.tokens.end());
    }
  };
  struct entry;
  using node = std::pair<const key, entry>;
  struct entry {
    uint64_t id = 0;
    node* parent = nullptr; // Null below a root.
    scopes::iterator scope;
    uint32_t block = 0;
    uint32_t children = 0;
    uint64_t used = 0; // When, by uses_; no two are the same.
  };
  using tree = std::map<key, entry, by_name>;

  /// @returns The entry under an entry or root; null if there is none.
  [[nodiscard]] node* find_below(uint64_t parent, std::span<const token_id> tokens);
  node* add(const scopes::iterator& scope, node* parent, std::span<const token_id> tokens,
            uint32_t block);
  void touch(node* at);
  bool evict_one();

  block_pool& pool_;
  uint32_t block_tokens_;
  scopes roots_;
  tree entries_;
  std::map<uint64_t, node*> leaves_; // By age.
  uint64_t ids_ = 0;
  uint64_t uses_ = 0;
  uint64_t evicted_ = 0;
};

} // namespace penstock::gpu
