#include "cluster/config_checks.hpp"

#include <algorithm>

namespace penstock::cluster {
namespace {

void complain(findings& out, const node_config& node, std::string_view key, std::string found,
              std::string hint) {
  out.add({out.file,
           node.at,
           "node " + in_quotes(node.name),
           std::string{key},
           std::move(found),
           {},
           std::move(hint)});
}

bool any_node(const cluster_config& config, role r) {
  return std::any_of(config.nodes.begin(), config.nodes.end(),
                     [r](const node_config& n) { return n.roles.has(r); });
}

/// True if a node's roles could not be read, so that counting roles would mislead.
bool roles_known(const cluster_config& config) {
  return std::none_of(config.nodes.begin(), config.nodes.end(),
                      [](const node_config& n) { return n.roles.empty(); });
}

void check_roles(const cluster_config& config, findings& out) {
  if (!roles_known(config))
    return;
  for (role r : {role::gateway, role::prefill, role::decode})
    if (!any_node(config, r))
      out.add({out.file,
               {},
               {},
               {},
               "has no node with the role " + in_quotes(name_of(r)),
               {},
               "add a [[node]] with roles = [\"" + std::string{name_of(r)} + "\"]"});
}

void check_names(const cluster_config& config, findings& out) {
  for (size_t i = 0; i < config.nodes.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (!config.nodes[i].name.empty() && config.nodes[i].name == config.nodes[j].name) {
        complain(out, config.nodes[i], "name",
                 "is taken by the node at line " + std::to_string(config.nodes[j].at.line),
                 "give each node a name of its own");
        break;
      }
}

struct used_port {
  const node_config* node;
  std::string_view key;
  const endpoint* at;
};

void check_ports(const cluster_config& config, findings& out) {
  std::vector<used_port> used;
  for (const node_config& node : config.nodes) {
    for (auto [key, at] :
         {std::pair{std::string_view{"listen"}, &node.listen},
          std::pair{std::string_view{"rpc"}, node.rpc ? &*node.rpc : nullptr},
          std::pair{std::string_view{"metrics"}, node.metrics ? &*node.metrics : nullptr}}) {
      if (at == nullptr || at->port == 0)
        continue;
      for (const used_port& other : used)
        if (other.node->host == node.host && other.at->collides_with(*at)) {
          complain(out, node, key,
                   "is " + in_quotes(at->text()) + ", which collides with " + std::string{other.key}
                     + " of node " + in_quotes(other.node->name),
                   "choose another port");
          break;
        }
      used.push_back({&node, key, at});
    }
  }
}

void check_cores(const cluster_config& config, findings& out) {
  for (size_t i = 0; i < config.nodes.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const node_config& a = config.nodes[i];
      const node_config& b = config.nodes[j];
      if (a.host != b.host)
        continue;
      for (uint32_t core : a.compute_cores)
        if (std::find(b.compute_cores.begin(), b.compute_cores.end(), core)
            != b.compute_cores.end())
          complain(out, a, "compute_cores",
                   "has core " + std::to_string(core) + ", on which node " + in_quotes(b.name)
                     + " computes",
                   "give each node cores of its own, or leave compute_cores to the plan");
    }
}

/// Prefill's KV is decode's input: both must run one model.
void check_models(const cluster_config& config, findings& out) {
  const node_config* first = nullptr;
  for (const node_config& node : config.nodes) {
    if (!node.roles.computes())
      continue;
    if (first == nullptr)
      first = &node;
    else if (node.model != first->model)
      complain(out, node, "model",
               "is " + in_quotes(node.model) + ", but node " + in_quotes(first->name) + " runs "
                 + in_quotes(first->model),
               "decode continues from the KV prefill computed, so both need the same model");
  }
}

void check_hosts(const cluster_config& config, findings& out) {
  auto spread = std::find_if(config.nodes.begin(), config.nodes.end(), [&](const node_config& n) {
    return n.host != config.nodes.front().host;
  });
  if (spread == config.nodes.end())
    return;
  for (const node_config& node : config.nodes)
    if (node.listen.port != 0 && node.listen.is_loopback())
      complain(out, node, "listen",
               "is " + in_quotes(node.listen.text()) + ", which nodes on other hosts cannot reach",
               "use an address of its network interface, or one host for all nodes");
  if (config.fabric.transport != "mapped")
    return;
  for (const node_config& decode : config.nodes)
    for (const node_config& prefill : config.nodes)
      if (decode.roles.decode && prefill.roles.prefill && decode.host != prefill.host)
        complain(out, decode, {},
                 "is on host " + in_quotes(decode.host) + ", prefill node "
                   + in_quotes(prefill.name) + " on " + in_quotes(prefill.host),
                 "fabric.transport = \"mapped\" works on one host; use \"auto\"");
}

} // namespace

void check_config(const cluster_config& config, findings& out) {
  if (config.nodes.empty()) {
    out.add({out.file,
             {},
             {},
             {},
             "has no [[node]]",
             {},
             "`penstock check --default` prints a file to start from"});
    return;
  }
  check_roles(config, out);
  check_names(config, out);
  check_ports(config, out);
  check_cores(config, out);
  check_models(config, out);
  check_hosts(config, out);
}

} // namespace penstock::cluster
