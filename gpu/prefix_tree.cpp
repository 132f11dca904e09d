#include "gpu/prefix_tree.hpp"

#include "base/check.hpp"

namespace penstock::gpu {

uint64_t prefix_tree::root_of(std::string_view scope) const {
  auto at = roots_.find(scope);
  return at == roots_.end() ? 0 : at->second.id;
}

prefix_tree::node* prefix_tree::find(uint64_t parent, std::span<const token_id> tokens) {
  auto at = entries_.find(name<std::span<const token_id>>{parent, tokens});
  return at == entries_.end() ? nullptr : &at->second;
}

prefix_tree::node* prefix_tree::add(std::string_view scope, node* parent,
                                    std::span<const token_id> tokens, uint32_t block) {
  auto root = parent == nullptr ? roots_.find(scope) : parent->scope;
  if (root == roots_.end())
    root = roots_.emplace(std::string{scope}, scope_root{++ids_, 0}).first;
  auto above = parent == nullptr ? root->second.id : parent->id;
  auto [at, fresh] = entries_.emplace(key{above, {tokens.begin(), tokens.end()}}, node{});
  PS_CHECK(fresh);
  ++root->second.entries;
  if (parent != nullptr) {
    PS_CHECK(parent->where == place::pool);
    unlist(parent);
    ++parent->children;
    ++parent->children_in_pool;
    list(parent);
  }
  auto& added = at->second;
  added = {++ids_, parent, place::pool, block, 0, 0, ++uses_, &at->first, root};
  list(&added);
  return &added;
}

void prefix_tree::touch(node* at) {
  unlist(at);
  at->used = ++uses_;
  list(at);
}

void prefix_tree::move(node* at, place to, uint32_t index) {
  PS_CHECK(at->children_in_pool == 0);
  unlist(at);
  if (at->parent != nullptr) {
    PS_CHECK(to != place::pool || at->parent->where == place::pool);
    unlist(at->parent);
    at->parent->children_in_pool -= at->where == place::pool ? 1 : 0;
    at->parent->children_in_pool += to == place::pool ? 1 : 0;
    list(at->parent);
  }
  at->where = to;
  at->index = index;
  list(at);
}

void prefix_tree::erase(node* at) {
  PS_CHECK(at->children == 0);
  unlist(at);
  if (auto* parent = at->parent; parent != nullptr) {
    unlist(parent);
    --parent->children;
    parent->children_in_pool -= at->where == place::pool ? 1 : 0;
    list(parent);
  }
  if (--at->scope->second.entries == 0)
    roots_.erase(at->scope);
  entries_.erase(entries_.find(*at->named));
}

prefix_tree::leaves* prefix_tree::leaves_with(const node& at) noexcept {
  if (at.where == place::pool && at.children_in_pool == 0)
    return &pool_leaves_;
  if (at.where == place::host && at.children == 0)
    return &host_leaves_;
  return nullptr;
}

void prefix_tree::list(node* at) {
  if (auto* in = leaves_with(*at); in != nullptr)
    in->emplace(at->used, at);
}

void prefix_tree::unlist(node* at) {
  if (auto* in = leaves_with(*at); in != nullptr)
    in->erase(at->used);
}

} // namespace penstock::gpu
