// How a node and `penstock up` find each other: two environment variables. Nodes started by hand
// have neither, and nothing happens.
#pragma once

#include <cstdint>

namespace penstock::apps {

/// Descriptor a node writes one byte to when it takes work.
inline constexpr const char* ready_fd_variable = "PENSTOCK_READY_FD";
/// How often the supervisor has restarted this node.
inline constexpr const char* restarts_variable = "PENSTOCK_RESTARTS";

/// Tells the supervisor, if there is one, that this node takes work. Once; later calls do nothing.
void signal_ready();

/// @returns Restarts so far; 0 without a supervisor.
[[nodiscard]] uint32_t restarts_from_environment();

} // namespace penstock::apps
