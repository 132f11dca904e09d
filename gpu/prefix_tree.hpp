// The entries of a prefix cache: one tree of token blocks per scope, and who may leave next.
//
// An entry is one full block, found by its parent and its tokens, which are compared in full. No
// hash decides anything, so neither a wrong answer nor one scope's content in another can come of a
// collision. A scope has a root, and with it costs memory, as long as it has entries.
// Knows neither pool nor bytes: that is prefix_cache's business. Keeps the order of last use among
// those that may leave: in the pool, those without a child there; in host memory, those without
// any child. Invariant: an entry's parent is an entry too or a root; none in the pool has a parent
// in host memory.
#pragma once

#include "base/request.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::gpu {

class prefix_tree {
  template <class Tokens>
  struct name {
    uint64_t parent = 0; // Id of the entry or root above.
    Tokens tokens;
  };
  using key = name<std::vector<token_id>>;
  struct scope_root {
    uint64_t id = 0; // As an entry's: never used twice.
    uint32_t entries = 0;
  };
  using scopes = std::map<std::string, scope_root, std::less<>>;

public:
  enum class place : uint8_t {
    pool,
    host,
    moving, ///< From host memory to the pool: may not leave meanwhile.
  };
  /// Read it; only the tree writes.
  struct node {
    uint64_t id = 0;
    node* parent = nullptr; ///< Null below a root.
    place where = place::pool;
    uint32_t index = 0;            ///< Of the block in the pool, or of the slot in host memory.
    uint32_t children = 0;         ///< Everywhere.
    uint32_t children_in_pool = 0; ///< Among them.
    uint64_t used = 0;             ///< When, by touches; no two are the same.
    const key* named = nullptr;
    scopes::iterator scope;
  };
  using leaves = std::map<uint64_t, node*>; ///< Least recently used first.

  /// @returns The id to look under for a scope's first blocks; 0, which has none, if unknown.
  [[nodiscard]] uint64_t root_of(std::string_view scope) const;
  /// @returns The entry below an entry or root; null if there is none.
  [[nodiscard]] node* find(uint64_t parent, std::span<const token_id> tokens);

  /// Enters a block of the pool. @param parent Null: below the scope's root. @pre It is not there.
  node* add(std::string_view scope, node* parent, std::span<const token_id> tokens, uint32_t block);
  /// Makes it the most recently used.
  void touch(node* at);
  /// @param index Block or slot there. @pre The invariant holds afterwards.
  void move(node* at, place to, uint32_t index);
  /// @pre It has no children.
  void erase(node* at);

  [[nodiscard]] const leaves& pool_leaves() const noexcept { return pool_leaves_; }
  [[nodiscard]] const leaves& host_leaves() const noexcept { return host_leaves_; }
  [[nodiscard]] uint32_t count() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  [[nodiscard]] uint32_t scope_count() const noexcept {
    return static_cast<uint32_t>(roots_.size());
  }
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [named, at] : entries_)
      visit(at);
  }

private:
  struct by_name {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const {
      if (a.parent != b.parent)
        return a.parent < b.parent;
      return std::lexicographical_compare(a.tokens.begin(), a.tokens.end(), b.tokens.begin(),
                                          b.tokens.end());
    }
  };

  leaves* leaves_with(const node& at) noexcept;
  void list(node* at);
  void unlist(node* at);

  scopes roots_;
  std::map<key, node, by_name> entries_;
  leaves pool_leaves_;
  leaves host_leaves_;
  uint64_t ids_ = 0;
  uint64_t uses_ = 0;
};

} // namespace penstock::gpu
