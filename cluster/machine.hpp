// What a plan must know about the machine it is made on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::cluster {

struct machine_facts {
  std::vector<uint32_t> cores;        ///< Ids this process may run on, ascending; not empty.
  uint64_t memory_bytes = 0;          ///< Physical, or the cgroup's limit if that is smaller.
  std::string host_name;              ///< As the system has it.
  std::vector<std::string> addresses; ///< Numeric addresses of its interfaces, canonical.
};

/// Asks the system. What cannot be found out is left plausible: core 0, no addresses.
[[nodiscard]] machine_facts this_machine();

} // namespace penstock::cluster
