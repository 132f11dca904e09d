// What must stand beside a figure: which build, which machine, which command.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::apps::bench {

struct run_facts {
  std::string version;
  std::string commit; ///< When the build was configured; changes since are not seen.
  std::string build;  ///< Compiler and build type.
  std::string cpu;    ///< The processor's name.
  uint32_t cores = 0; ///< That this process may use.
  uint64_t memory_bytes = 0;
  std::string system;       ///< Kernel.
  double load_before = 0.0; ///< Load average of the last minute, when this was called.
  std::string time;         ///< UTC, ISO 8601.
  std::string command;      ///< As it was given.
};

/// @returns What this program was started with, without its name.
[[nodiscard]] std::vector<std::string> program_arguments();

/// @param arguments Of the program, without its name.
[[nodiscard]] run_facts facts_of_this_run(const std::vector<std::string>& arguments);

} // namespace penstock::apps::bench
