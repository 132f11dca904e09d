#include "apps/builtin_model.hpp"
#include "apps/cluster_source.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "apps/listen_check.hpp"
#include "apps/supervisor.hpp"
#include "base/log.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

constexpr const char* footer
  = R"(Starts a process per node on this machine, restarts those that die, and stops all on Ctrl-C.
Prints one line that begins with "ready" when the cluster takes requests; logs go to stderr.
Examples:
  penstock up                        gateway, prefill and decode on loopback
  penstock up --model ~/llama        the same cluster with another model
  penstock up cluster.toml           the nodes of a file; `penstock check FILE` explains it
For nodes on several machines run `penstock node NAME --config FILE` on each.)";

/// Nodes that run on this machine, as the plan sees it.
std::vector<const cluster::node_config*> nodes_here(const cluster::cluster_config& config,
                                                    const cluster::plan& plan) {
  std::vector<const cluster::node_config*> out;
  for (const auto& node : plan.nodes)
    if (node.here)
      out.push_back(&config.nodes[node.index]);
  return out;
}

void print_ready(const cluster::cluster_config& config) {
  std::string line = "ready";
  for (const auto& node : config.nodes) {
    if (node.rpc)
      line += " rpc=" + node.rpc->text();
    if (node.metrics)
      line += " metrics." + node.name + "=http://" + node.metrics->text() + "/metrics";
  }
  std::cout << line << std::endl; // Flushed: scripts wait for it.
}

int up(const cluster_source& source) {
  log::set_prefix("up");
  auto config = read_cluster(source);
  if (!config)
    return exit_usage;
  log::set_level(config->log_level);
  auto plan = plan_cluster(*config);
  if (!plan)
    return exit_usage;
  auto nodes = nodes_here(*config, *plan);
  if (nodes.empty()) {
    std::cerr << config->file << ": no node of this file runs on this machine\n";
    return exit_usage;
  }
  if (auto free = check_listen_addresses(nodes); !free) {
    std::cerr << "penstock up: " << free.err().detail << '\n';
    return exit_failed;
  }
  std::vector<child_spec> children;
  for (const auto* node : nodes) {
    child_spec child{node->name, {executable_path(), "node", node->name}};
    auto more = source.as_arguments();
    child.argv.insert(child.argv.end(), more.begin(), more.end());
    children.push_back(std::move(child));
  }
  const auto& r = config->restart;
  supervisor_options limits;
  limits.restart.backoff_us_min = uint64_t{r.backoff_ms_min} * 1000;
  limits.restart.backoff_us_max = uint64_t{r.backoff_ms_max} * 1000;
  limits.restart.burst = r.burst;
  steady_clock time;
  supervisor all{std::move(children), limits, time, [&config] { print_ready(*config); }};
  return all.run();
}

} // namespace

void add_up_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("up", "Start a cluster on this machine and keep it running");
  auto source = std::make_shared<cluster_source>(); // Shared by the parser and the callback.
  command->footer(footer);
  command->add_option("FILE", source->file, "Cluster file; without it, the built-in one");
  command->add_option("--model", source->model, "Serve this model instead of the file's");
  command->callback([source, &exit_code] { exit_code = up(*source); });
}

} // namespace penstock::apps
