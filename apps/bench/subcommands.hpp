// The sub-commands of `penstock bench`. As in apps/commands.hpp: each describes its options, and
// sets `exit_code` if its command was the one given.
#pragma once

namespace CLI {
class App;
}

namespace penstock::apps::bench {

void add_interference_command(CLI::App& bench, int& exit_code);
void add_model_command(CLI::App& bench, int& exit_code);

} // namespace penstock::apps::bench
