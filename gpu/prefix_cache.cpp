#include "gpu/prefix_cache.hpp"

#include <algorithm>

namespace penstock::gpu {

prefix_cache::prefix_cache(block_pool& pool, uint32_t block_tokens, host_tier* tier)
  : pool_(pool), block_tokens_(block_tokens),
    tier_(tier != nullptr && tier->capacity() > 0 ? tier : nullptr) {
  PS_CHECK(block_tokens_ > 0);
}

prefix_cache::~prefix_cache() {
  tree_.for_each([this](const node& at) {
    if (at.where == place::pool)
      pool_.unkeep(at.index); // Those in use become free when their leases die.
    else
      tier_->drop(at.index);
  });
}

prefix_hit prefix_cache::find(std::span<const token_id> tokens, uint32_t tokens_max,
                              std::string_view scope) {
  prefix_hit held;
  // All are touched first, so that bringing one back does not push out those that come after it.
  std::vector<uint64_t> parents{tree_.root_of(scope)};
  auto blocks = std::min<size_t>(tokens.size(), tokens_max) / block_tokens_;
  for (size_t i = 0; i < blocks; ++i) {
    auto* at = tree_.find(parents.back(), tokens.subspan(i * block_tokens_, block_tokens_));
    if (at == nullptr)
      break;
    tree_.touch(at);
    if (at->where == place::pool)
      pool_.share(held, {&at->index, 1});
    parents.push_back(at->id);
  }
  for (auto i = held.blocks().size(); i + 1 < parents.size(); ++i) {
    auto* at = tree_.find(parents[i], tokens.subspan(i * block_tokens_, block_tokens_));
    if (at == nullptr || !restore(at, held))
      break; // Pushed out after all, or no block for it.
  }
  return held;
}

bool prefix_cache::restore(node* at, prefix_hit& into) {
  auto slot = at->index;
  tree_.move(at, place::moving, slot);
  tier_->lift(slot);
  auto fresh = acquire(1);
  if (!fresh) {
    tier_->put_back(slot); // Nothing was evicted, so its room is still there.
    tree_.move(at, place::host, slot);
    return false;
  }
  auto block = fresh->blocks()[0];
  tier_->land(slot, block);
  pool_.keep(block);
  tree_.move(at, place::pool, block);
  block_pool::join(into, std::move(*fresh));
  ++into.from_host;
  return true;
}

void prefix_cache::count_hit(const prefix_hit& hit) noexcept {
  counts_.hit_host += hit.from_host;
  counts_.hit_pool += hit.blocks().size() - hit.from_host;
}

void prefix_cache::insert(std::span<const token_id> tokens, std::span<const uint32_t> blocks,
                          std::string_view scope) {
  if (scope.size() > scope_bytes_max)
    return;
  node* parent = nullptr;
  auto count = std::min(tokens.size() / block_tokens_, blocks.size());
  for (size_t i = 0; i < count; ++i) {
    auto part = tokens.subspan(i * block_tokens_, block_tokens_);
    auto* at = tree_.find(parent == nullptr ? tree_.root_of(scope) : parent->id, part);
    auto known = at != nullptr && at->where == place::pool;
    if (!known) {
      if (pool_.is_kept(blocks[i]))
        return; // The block already stands for another prefix; cannot happen to honest callers.
      pool_.keep(blocks[i]);
    }
    if (at == nullptr) {
      at = tree_.add(scope, parent, part, blocks[i]);
    } else if (!known) {
      tier_->drop(at->index); // Computed again meanwhile.
      tree_.move(at, place::pool, blocks[i]);
    }
    tree_.touch(at);
    parent = at;
  }
}

bool prefix_cache::evict_one(eviction how) {
  auto leaf = std::find_if(tree_.pool_leaves().begin(), tree_.pool_leaves().end(),
                           [this](const auto& l) { return pool_.holders(l.second->index) == 0; });
  if (leaf == tree_.pool_leaves().end())
    return false;
  auto* at = leaf->second;
  auto block = at->index;
  if (how == eviction::save && tier_ != nullptr) {
    if (!tier_->has_room()) {
      PS_CHECK(forget_one_in_host()); // What is full has a leaf.
      ++counts_.host_evicted;
    }
    tree_.move(at, place::host, tier_->save(block));
  } else {
    tree_.erase(at);
  }
  pool_.unkeep(block);
  ++counts_.evicted;
  return true;
}

bool prefix_cache::forget_one_in_host() {
  if (tree_.host_leaves().empty())
    return false;
  auto* at = tree_.host_leaves().begin()->second;
  tier_->drop(at->index);
  tree_.erase(at);
  return true;
}

result<kv_lease> prefix_cache::acquire(uint32_t count) {
  while (pool_.counts().free < count && evict_one(eviction::save)) {
  }
  return pool_.acquire(count);
}

void prefix_cache::clear() {
  while (forget_one_in_host()) {
  }
  while (evict_one(eviction::forget)) {
  }
}

host_room prefix_cache::room_for(uint32_t blocks) const noexcept {
  if (tier_ == nullptr || blocks > tier_->capacity())
    return host_room::none;
  return blocks <= tier_->capacity() - tier_->count() ? host_room::free : host_room::taken;
}

prefix_cache_counts prefix_cache::counts() const noexcept {
  auto out = counts_;
  if (tier_ != nullptr) {
    out.host_saved = tier_->saved_count();
    out.host_loaded = tier_->loaded_count();
    out.host_bytes = tier_->count() * tier_->block_bytes();
    out.host_bytes_max = tier_->capacity() * tier_->block_bytes();
  }
  return out;
}

} // namespace penstock::gpu
