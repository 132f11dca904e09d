#include "apps/cluster_source.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "cluster/default_config.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

constexpr const char* footer = R"(Examples:
  penstock check                      the plan of the built-in cluster on this machine
  penstock check cluster.toml         every mistake in the file, or its plan
  penstock check --default > my.toml  a file to start from
Exit code 2 if there is a mistake.)";

struct options {
  cluster_source source;
  bool print_default = false;
};

int check(const options& o) {
  if (o.print_default) {
    std::cout << cluster::default_cluster_toml();
    return exit_done;
  }
  auto config = read_cluster(o.source);
  if (!config)
    return exit_usage;
  auto plan = plan_cluster(*config);
  if (!plan)
    return exit_usage;
  std::cout << cluster::to_text(*plan);
  return exit_done;
}

} // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("check", "Explain a cluster file: its mistakes, or its plan");
  auto o = std::make_shared<options>(); // Shared by the parser and the callback.
  command->footer(footer);
  command->add_option("FILE", o->source.file, "Cluster file; without it, the built-in one");
  command->add_option("--model", o->source.model, "Plan with this model instead of the file's");
  command->add_flag("--default", o->print_default, "Print the built-in cluster file");
  command->callback([o, &exit_code] { exit_code = check(*o); });
}

} // namespace penstock::apps
