#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "cluster/mistake.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::apps {

namespace {

constexpr const char* description
  = "Penstock serves language models with prefill and decode in separate processes.";

constexpr const char* footer = R"(Examples:
  penstock up                                start the built-in three-node cluster
  penstock ask -- "Once upon a time"         ask it
  penstock run --json -- "Once upon a time"  the same in one process, without a cluster
  penstock check cluster.toml                explain a cluster file before starting it
  penstock bench --rate 5 --duration 30      load a running cluster and measure it
`penstock COMMAND --help` has the options and more examples.
Exit codes: 0 done, 1 failed, 2 bad usage or cluster file.)";

/// @returns What was not understood: an unknown option if there is one, for the text beside it may
/// only seem out of place.
std::string unexpected(const CLI::App& app) {
  const auto* command = app.get_subcommands().empty() ? &app : app.get_subcommands().front();
  auto name = command == &app ? std::string{"penstock"} : "penstock " + command->get_name();
  auto help = "; `" + name + " --help` lists them";
  for (const auto& word : app.remaining(true)) {
    if (!word.starts_with("--") || word == "--")
      continue;
    auto text = name + ": unknown option " + cluster::in_quotes(word.substr(0, word.find('=')));
    std::vector<std::string> known;
    for (const auto* option : command->get_options())
      for (const auto& long_name : option->get_lnames())
        known.push_back("--" + long_name);
    std::vector<std::string_view> words{known.begin(), known.end()};
    auto near = cluster::closest(word.substr(0, word.find('=')), words);
    return near.empty() ? text + help : text + "; did you mean " + std::string{near} + "?";
  }
  auto rest = app.remaining(true);
  auto first = rest.empty() ? std::string{} : rest.front();
  if (first.starts_with('-') && first.size() > 1)
    return name + ": unknown option " + cluster::in_quotes(first) + help;
  return name + ": unexpected argument " + cluster::in_quotes(first)
         + "; a text with spaces needs quotes";
}

} // namespace

void add_version_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("version", "Print the version");
  command->callback([&exit_code] {
    std::cout << "penstock " PENSTOCK_VERSION "\n";
    exit_code = exit_done;
  });
}

int run_command_line(std::vector<std::string> arguments) {
  CLI::App app{description, "penstock"};
  app.footer(footer);
  app.require_subcommand(1);
  int exit_code = exit_usage;
  add_up_command(app, exit_code);
  add_ask_command(app, exit_code);
  add_run_command(app, exit_code);
  add_tokenize_command(app, exit_code);
  add_check_command(app, exit_code);
  add_bench_command(app, exit_code);
  add_node_command(app, exit_code);
  add_version_command(app, exit_code);
  try {
    std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back.
    app.parse(std::move(arguments));
  } catch (const CLI::ExtrasError&) {
    std::cerr << unexpected(app) << '\n';
    return exit_usage;
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? exit_done : exit_usage; // --help is an "error" of code 0.
  }
  return exit_code;
}

} // namespace penstock::apps
