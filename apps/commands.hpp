// The sub-commands of the binary. Each add_ function describes its options to the command line, and
// sets `exit_code` if its command was the one given.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace penstock::apps {

void add_up_command(CLI::App& app, int& exit_code);
void add_node_command(CLI::App& app, int& exit_code);
void add_check_command(CLI::App& app, int& exit_code);
void add_ask_command(CLI::App& app, int& exit_code);
void add_bench_command(CLI::App& app, int& exit_code);
void add_run_command(CLI::App& app, int& exit_code);
void add_tokenize_command(CLI::App& app, int& exit_code);
void add_version_command(CLI::App& app, int& exit_code);

/// Parses a command line and runs the command it names.
/// @param arguments Without the program's name.
/// @returns An exit code (exit_code.hpp).
[[nodiscard]] int run_command_line(std::vector<std::string> arguments);

} // namespace penstock::apps
