#include "gpu/prefix_cache.hpp"

#include <algorithm>

namespace penstock::gpu {

prefix_cache::prefix_cache(block_pool& pool, uint32_t block_tokens)
  : pool_(pool), block_tokens_(block_tokens) {
  PS_CHECK(block_tokens_ > 0);
}

prefix_cache::~prefix_cache() {
  for (const auto& [name, e] : entries_)
    pool_.unkeep(e.block); // Those in use become free when their leases die.
}

digest128 prefix_cache::root(uint64_t salt) const {
  return {salt, block_tokens_};
}

digest128 prefix_cache::name_of(const digest128& parent, std::span<const token_id> tokens) {
  return combine(parent, digest128_of(std::as_bytes(tokens)));
}

void prefix_cache::touch(tree::iterator at) {
  auto& e = at->second;
  if (e.children == 0)
    leaves_.erase({e.used, at->first});
  e.used = ++uses_;
  if (e.children == 0)
    leaves_.insert({e.used, at->first});
}

kv_lease prefix_cache::find(std::span<const token_id> tokens, uint32_t tokens_max, uint64_t salt) {
  kv_lease held;
  auto name = root(salt);
  auto blocks = std::min<size_t>(tokens.size(), tokens_max) / block_tokens_;
  for (size_t i = 0; i < blocks; ++i) {
    auto part = tokens.subspan(i * block_tokens_, block_tokens_);
    name = name_of(name, part);
    auto at = entries_.find(name);
    if (at == entries_.end() || !std::equal(part.begin(), part.end(), at->second.tokens.begin()))
      break;
    pool_.share(held, {&at->second.block, 1});
    touch(at);
  }
  return held;
}

void prefix_cache::insert(std::span<const token_id> tokens, std::span<const uint32_t> blocks,
                          uint64_t salt) {
  auto parent = root(salt);
  auto count = std::min(tokens.size() / block_tokens_, blocks.size());
  for (size_t i = 0; i < count; ++i) {
    auto part = tokens.subspan(i * block_tokens_, block_tokens_);
    auto name = name_of(parent, part);
    auto at = entries_.find(name);
    if (at == entries_.end()) {
      if (pool_.is_kept(blocks[i]))
        return; // The block already stands for another prefix; cannot happen to honest callers.
      pool_.keep(blocks[i]);
      at = entries_.emplace(name, entry{{part.begin(), part.end()}, parent, blocks[i], 0, 0}).first;
      if (auto above = entries_.find(parent);
          above != entries_.end() && above->second.children++ == 0)
        leaves_.erase({above->second.used, parent});
    } else if (!std::equal(part.begin(), part.end(), at->second.tokens.begin())) {
      return; // A collision: this prefix is simply not cached.
    }
    touch(at);
    parent = name;
  }
}

bool prefix_cache::evict_one() {
  for (const auto& [used, name] : leaves_) {
    auto at = entries_.find(name);
    if (pool_.holders(at->second.block) > 0)
      continue;
    auto parent = at->second.parent;
    pool_.unkeep(at->second.block);
    leaves_.erase({used, name}); // Ends the loop: the range is gone.
    entries_.erase(at);
    if (auto above = entries_.find(parent);
        above != entries_.end() && --above->second.children == 0)
      leaves_.insert({above->second.used, parent});
    ++evicted_;
    return true;
  }
  return false;
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
