#include "gpu/prefix_cache.hpp"

#include <algorithm>

namespace penstock::gpu {

prefix_cache::prefix_cache(block_pool& pool, uint32_t block_tokens)
  : pool_(pool), block_tokens_(block_tokens) {
  PS_CHECK(block_tokens_ > 0);
}

prefix_cache::~prefix_cache() {
  for (const auto& [what, e] : entries_)
    pool_.unkeep(e.block); // Those in use become free when their leases die.
}

prefix_cache::node* prefix_cache::find_below(uint64_t parent, std::span<const token_id> tokens) {
  auto at = entries_.find(key_view{parent, tokens});
  return at == entries_.end() ? nullptr : &*at;
}

prefix_cache::node* prefix_cache::add(const scopes::iterator& scope, node* parent,
                                      std::span<const token_id> tokens, uint32_t block) {
  pool_.keep(block);
  auto above = parent == nullptr ? scope->second.id : parent->second.id;
  auto at = entries_.emplace(key{above, {tokens.begin(), tokens.end()}},
                             entry{++ids_, parent, scope, block, 0, 0});
  ++scope->second.entries;
  if (parent != nullptr && parent->second.children++ == 0)
    leaves_.erase(parent->second.used);
  return &*at.first;
}

void prefix_cache::touch(node* at) {
  auto& e = at->second;
  if (e.children == 0)
    leaves_.erase(e.used);
  e.used = ++uses_;
  if (e.children == 0)
    leaves_.emplace(e.used, at);
}

prefix_hit prefix_cache::find(std::span<const token_id> tokens, uint32_t tokens_max,
                              std::string_view scope) {
  prefix_hit held;
  auto root = roots_.find(scope);
  if (root == roots_.end())
    return held;
  auto parent = root->second.id;
  auto blocks = std::min<size_t>(tokens.size(), tokens_max) / block_tokens_;
  for (size_t i = 0; i < blocks; ++i) {
    auto* at = find_below(parent, tokens.subspan(i * block_tokens_, block_tokens_));
    if (at == nullptr)
      break;
    pool_.share(held, {&at->second.block, 1});
    touch(at);
    parent = at->second.id;
  }
  return held;
}

void prefix_cache::insert(std::span<const token_id> tokens, std::span<const uint32_t> blocks,
                          std::string_view scope) {
  auto count = std::min(tokens.size() / block_tokens_, blocks.size());
  if (count == 0 || scope.size() > scope_bytes_max)
    return;
  auto root = roots_.find(scope);
  if (root == roots_.end())
    root = roots_.emplace(std::string{scope}, scope_root{++ids_, 0}).first;
  node* parent = nullptr;
  for (size_t i = 0; i < count; ++i) {
    auto part = tokens.subspan(i * block_tokens_, block_tokens_);
    auto* at = find_below(parent == nullptr ? root->second.id : parent->second.id, part);
    if (at == nullptr) {
      if (pool_.is_kept(blocks[i]))
        break; // The block already stands for another prefix; cannot happen to honest callers.
      at = add(root, parent, part, blocks[i]);
    }
    touch(at);
    parent = at;
  }
  if (root->second.entries == 0)
    roots_.erase(root);
}

bool prefix_cache::evict_one() {
  auto leaf = std::find_if(leaves_.begin(), leaves_.end(), [this](const auto& l) {
    return pool_.holders(l.second->second.block) == 0;
  });
  if (leaf == leaves_.end())
    return false;
  auto at = entries_.find(leaf->second->first);
  leaves_.erase(leaf);
  auto gone = at->second;
  entries_.erase(at);
  pool_.unkeep(gone.block);
  if (gone.parent != nullptr && --gone.parent->second.children == 0)
    leaves_.emplace(gone.parent->second.used, gone.parent);
  if (--gone.scope->second.entries == 0)
    roots_.erase(gone.scope);
  ++evicted_;
  return true;
}

result<kv_lease> prefix_cache::acquire(uint32_t count) {
  while (pool_.counts().free < count && evict_one()) {
  }
  return pool_.acquire(count);
}

void prefix_cache::clear() {
  while (evict_one()) {
  }
}

} // namespace penstock::gpu
