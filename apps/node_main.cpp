#include "apps/cluster_source.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "apps/node.hpp"
#include "apps/ready_signal.hpp"
#include "base/log.hpp"

#include <CLI/CLI.hpp>

#include <csignal>
#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

constexpr const char* footer
  = R"(Runs one node of a cluster in this process until SIGTERM or Ctrl-C; logs go to stderr.
`penstock up` starts all nodes of this machine and restarts those that die.
Examples:
  penstock node p0                          the prefill node of the built-in cluster
  penstock node d0 --config cluster.toml    a node of a file
Exit codes: 0 told to stop, 1 failed (worth a restart), 2 bad usage or cluster file.)";

/// Blocks the signals that stop a node in this thread and all it will start.
sigset_t block_stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGUSR1); // Sent by the node itself when it has failed.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

int run_node(const cluster_source& source, const std::string& name) {
  auto stop_signals = block_stop_signals();
  log::set_prefix(name);
  auto config = read_cluster(source);
  if (!config)
    return exit_usage;
  log::set_level(config->log_level);
  auto index = config->find(name);
  if (index == config->nodes.size()) {
    std::cerr << config->file << ": has no node \"" << name << "\"; it has:";
    for (const auto& node : config->nodes)
      std::cerr << ' ' << node.name;
    std::cerr << '\n';
    return exit_usage;
  }
  auto plan = plan_cluster(*config);
  if (!plan)
    return exit_usage;
  auto node = node_process::start(*config, *plan, static_cast<node_index>(index));
  if (!node) {
    log::error("node_not_started",
               {{"code", name_of(node.err().code)}, {"why", node.err().detail}});
    auto bad_input = node.err().code == errc::invalid_argument || node.err().code == errc::malformed
                     || node.err().code == errc::unsupported;
    return bad_input ? exit_usage : exit_failed;
  }
  signal_ready();
  int got = 0;
  sigwait(&stop_signals, &got);
  bool failed = got == SIGUSR1;
  log::info("node_stopping", {{"failed", failed}});
  (*node)->stop();
  return failed ? exit_failed : exit_done;
}

} // namespace

void add_node_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("node", "Run one node of a cluster in this process");
  auto source = std::make_shared<cluster_source>(); // Shared by the parser and the callback.
  auto name = std::make_shared<std::string>();
  command->footer(footer);
  command->add_option("NAME", *name, "The node's name in the cluster file")->required();
  command->add_option("--config", source->file, "Cluster file; without it, the built-in one");
  command->add_option("--model", source->model, "Serve this model instead of the file's");
  command->callback([source, name, &exit_code] { exit_code = run_node(*source, *name); });
}

} // namespace penstock::apps
