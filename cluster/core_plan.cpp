#include "cluster/core_plan.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace penstock::cluster {
namespace {

using core_list = std::vector<uint32_t>;

bool holds(std::span<const uint32_t> list, uint32_t core) {
  return std::find(list.begin(), list.end(), core) != list.end();
}

/// Cores for compute that no node has named, without the service core unless it is the only one.
core_list free_cores(std::span<const node_config* const> nodes, std::span<const uint32_t> cores,
                     uint32_t service) {
  core_list out;
  for (uint32_t core : cores) {
    bool named = core == service;
    for (const node_config* node : nodes)
      named = named || holds(node->compute_cores, core);
    if (!named)
      out.push_back(core);
  }
  return out;
}

/// Deals `pool` to `takers` as evenly as it goes, in order and in runs; each gets at least one.
void deal(std::span<const uint32_t> pool, std::span<node_cores* const> takers) {
  for (size_t i = 0; i < takers.size(); ++i)
    for (size_t c = i * pool.size() / takers.size(); c < (i + 1) * pool.size() / takers.size(); ++c)
      takers[i]->compute.push_back(pool[c]);
}

/// Too few cores: decode nodes take one each, then prefill nodes from the service core, around.
void share(std::span<const uint32_t> pool, uint32_t service, std::span<node_cores* const> decodes,
           std::span<node_cores* const> prefills) {
  core_list ring{pool.begin(), pool.end()};
  ring.push_back(service);
  size_t next = 0;
  for (auto group : {decodes, prefills})
    for (node_cores* taker : group)
      taker->compute.push_back(ring[next++ % ring.size()]);
}

void mark_shared(std::vector<node_cores>& out) {
  for (node_cores& a : out)
    for (const node_cores& b : out)
      for (uint32_t core : a.compute)
        a.shared = a.shared || (&a != &b && holds(b.compute, core));
}

} // namespace

std::vector<node_cores> plan_cores(std::span<const node_config* const> nodes,
                                   std::span<const uint32_t> cores) {
  PS_CHECK(!cores.empty());
  uint32_t service = cores.back();
  for (const node_config* node : nodes)
    if (node->service_core)
      service = *node->service_core;
  std::vector<node_cores> out(nodes.size());
  std::vector<node_cores*> decodes;
  std::vector<node_cores*> prefills;
  for (size_t i = 0; i < nodes.size(); ++i) {
    out[i].service = nodes[i]->service_core.value_or(service);
    out[i].compute = nodes[i]->compute_cores;
    if (out[i].compute.empty() && nodes[i]->roles.computes())
      (nodes[i]->roles.decode ? decodes : prefills).push_back(&out[i]);
  }
  core_list pool = free_cores(nodes, cores, service);
  size_t takers = decodes.size() + prefills.size();
  if (pool.size() < takers) {
    share(pool, service, decodes, prefills);
  } else if (takers > 0) {
    // A third of the cores saturates memory for decode; all of them if nobody else wants them.
    size_t third = std::clamp(pool.size() / 3, decodes.size(), pool.size() - prefills.size());
    size_t own = prefills.empty() ? pool.size() : decodes.empty() ? 0 : third;
    deal(std::span{pool}.first(own), decodes);
    deal(std::span{pool}.subspan(own), prefills);
  }
  for (node_cores& node : out)
    std::sort(node.compute.begin(), node.compute.end());
  mark_shared(out);
  return out;
}

} // namespace penstock::cluster
