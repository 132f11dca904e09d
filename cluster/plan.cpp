#include "cluster/plan.hpp"

#include "base/check.hpp"
#include "cluster/core_plan.hpp"

#include <algorithm>
#include <limits>

namespace penstock::cluster {
namespace {

mistake about(const cluster_config& config, const node_config& node, std::string key,
              std::string found, std::string hint) {
  return {config.file,    node.at,          "node " + in_quotes(node.name),
          std::move(key), std::move(found), {},
          std::move(hint)};
}

std::string mib(uint64_t bytes) {
  // Round up: a refusal must not read "needs 64 MiB, has 64 MiB".
  return std::to_string((bytes + (uint64_t{1} << 20U) - 1) >> 20U) + " MiB";
}

bool is_here(const node_config& node, const machine_facts& machine) {
  if (node.listen.is_loopback() || node.host == machine.host_name)
    return true;
  return std::find(machine.addresses.begin(), machine.addresses.end(), node.listen.address)
         != machine.addresses.end();
}

void plan_memory(const cluster_config& config, const node_config& node, const model_facts& model,
                 node_plan& out, plan& p) {
  out.total_bytes = process_bytes;
  if (!node.roles.computes())
    return;
  uint64_t block_bytes = model.block_bytes(node.block_tokens);
  uint64_t blocks = node.kv_blocks > 0 ? node.kv_blocks : node.kv_memory_bytes / block_bytes;
  blocks = std::min<uint64_t>(blocks, std::numeric_limits<uint32_t>::max());
  uint64_t need = (model.context + node.block_tokens - 1) / node.block_tokens;
  if (blocks < need)
    p.mistakes.push_back(
      about(config, node, node.kv_blocks > 0 ? "kv_blocks" : "kv_memory",
            "holds " + std::to_string(blocks * node.block_tokens) + " tokens, one full context is "
              + std::to_string(model.context),
            "give it at least " + std::to_string(need) + " blocks, " + mib(need * block_bytes)));
  out.kv_blocks = static_cast<uint32_t>(blocks);
  if (blocks > std::numeric_limits<uint64_t>::max() / 4 / block_bytes)
    out.kv_bytes = std::numeric_limits<uint64_t>::max() / 4; // Refused below in any case.
  else
    out.kv_bytes = blocks * block_bytes;
  out.weight_bytes = node.roles.decode ? model.weight_bytes_decode : model.weight_bytes_prefill;
  out.host_cache_bytes = node.host_cache_bytes;
  if (out.host_cache_bytes > 0 && out.host_cache_bytes < block_bytes)
    p.mistakes.push_back(about(config, node, "host_cache",
                               "is " + mib(out.host_cache_bytes) + ", less than one KV block",
                               "give it at least " + mib(block_bytes) + ", or 0"));
  out.total_bytes += out.kv_bytes + out.weight_bytes + out.host_cache_bytes;
}

void check_memory(const cluster_config& config, plan& p) {
  for (const node_plan& node : p.nodes)
    if (node.here)
      p.memory_bytes_here
        += std::min(node.total_bytes, std::numeric_limits<uint64_t>::max() - p.memory_bytes_here);
  uint64_t has = p.machine.memory_bytes;
  if (has == 0)
    return; // Unknown.
  mistake m{config.file, {}, {}, {}, {}, {}, {}};
  m.found = "the nodes on this machine need " + mib(p.memory_bytes_here) + ", it has "
            + std::to_string(has >> 20U) + " MiB";
  m.hint = "lower kv_memory, kv_blocks or host_cache, or move nodes to other hosts";
  if (p.memory_bytes_here > has)
    p.mistakes.push_back(std::move(m));
  else if (p.memory_bytes_here / 9 > has / 10)
    p.warnings.push_back(std::move(m));
}

void check_cores(const cluster_config& config, const node_config& node, plan& p) {
  const auto& usable = p.machine.cores;
  auto check = [&](uint32_t core, const char* key) {
    if (std::find(usable.begin(), usable.end(), core) != usable.end())
      return;
    std::string last = std::to_string(usable.back());
    p.mistakes.push_back(about(config, node, key,
                               "names core " + std::to_string(core) + ", but this process may use "
                                 + std::to_string(usable.size()) + " cores, the last is " + last,
                               "name cores it has, or leave the choice to the plan"));
  };
  for (uint32_t core : node.compute_cores)
    check(core, "compute_cores");
  if (node.service_core)
    check(*node.service_core, "service_core");
}

void plan_cores_here(const cluster_config& config, plan& p) {
  std::vector<const node_config*> nodes;
  for (const node_plan& node : p.nodes)
    if (node.here) {
      nodes.push_back(&config.nodes[node.index]);
      check_cores(config, *nodes.back(), p);
    }
  std::vector<node_cores> cores = plan_cores(nodes, p.machine.cores);
  size_t next = 0;
  for (node_plan& node : p.nodes) {
    const node_config& from = config.nodes[node.index];
    if (!node.here) {
      node.compute_cores = from.compute_cores;
      node.service_core = from.service_core.value_or(0);
      continue;
    }
    node.compute_cores = cores[next].compute;
    node.service_core = cores[next].service;
    bool with_service
      = node.roles.decode && p.machine.cores.size() > 1
        && std::count(node.compute_cores.begin(), node.compute_cores.end(), node.service_core) > 0;
    if (cores[next].shared)
      p.warnings.push_back(about(config, from, {}, "computes on a core that another node uses too",
                                 "its steps will wait for the other's"));
    else if (with_service)
      p.warnings.push_back(about(config, from, {}, "decodes on its service core",
                                 "tokens will wait for RPC and transfers"));
    ++next;
  }
}

/// `auto` is resolved here: mapped memory on one host, TCP between hosts.
std::string kv_transport_of(const cluster_config& config, const node_config& prefill,
                            const node_config& decode) {
  if (config.fabric.transport != "auto")
    return config.fabric.transport;
  return prefill.host == decode.host ? "mapped" : "tcp;ofi_rxm";
}

void plan_links(const cluster_config& config, plan& p) {
  auto count = static_cast<uint32_t>(config.nodes.size());
  auto is_clear = [&](uint32_t a, uint32_t b) {
    return !config.nodes[a].listen.is_loopback() && config.nodes[a].host != config.nodes[b].host;
  };
  for (uint32_t a = 0; a < count; ++a)
    for (uint32_t b = 0; b < count; ++b) {
      const role_set& from = config.nodes[a].roles;
      const role_set& to = config.nodes[b].roles;
      // A pair that talks in both directions is one link, named from its gateway or prefill.
      bool asks = from.gateway && to.computes();
      bool mirrored = to.gateway && from.computes() && b < a;
      if (a != b && ((asks && !mirrored) || (from.prefill && to.decode && !from.gateway)))
        p.links.push_back({a, b, link_kind::control, "tcp", is_clear(a, b)});
      if (a != b && from.prefill && to.decode)
        p.links.push_back({a, b, link_kind::kv,
                           kv_transport_of(config, config.nodes[a], config.nodes[b]),
                           is_clear(a, b)});
    }
}

} // namespace

std::string_view plan::kv_transport(uint32_t prefill, uint32_t decode) const noexcept {
  for (const link_plan& link : links)
    if (link.kind == link_kind::kv && link.from == prefill && link.to == decode)
      return link.transport;
  return {};
}

plan make_plan(const cluster_config& config, const machine_facts& machine,
               const model_facts& model) {
  PS_CHECK(!machine.cores.empty());
  PS_CHECK(model.context > 0 && model.block_bytes(1) > 0);
  plan p;
  p.machine = machine;
  p.tenants_apart = config.tenants_apart;
  p.model = model;
  for (const node_config& node : config.nodes) {
    node_plan out;
    out.index = static_cast<uint32_t>(p.nodes.size());
    out.name = node.name;
    out.roles = node.roles;
    out.here = is_here(node, machine);
    plan_memory(config, node, model, out, p);
    p.nodes.push_back(std::move(out));
  }
  plan_cores_here(config, p);
  check_memory(config, p);
  plan_links(config, p);
  return p;
}

} // namespace penstock::cluster
