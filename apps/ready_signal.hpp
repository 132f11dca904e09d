// How a node and `penstock up` find each other: two environment variables. Nodes started by hand
// have neither, and nothing happens.
#pragma once

namespace penstock::apps {

/// Descriptor a node writes one byte to when it takes work.
inline constexpr const char* ready_fd_variable = "PENSTOCK_READY_FD";
/// How often the supervisor has restarted this node; ops::restarts_from() reads it.
inline constexpr const char* restarts_variable = "PENSTOCK_RESTARTS";

/// Tells the supervisor, if there is one, that this node takes work. Once; later calls do nothing.
void signal_ready();

} // namespace penstock::apps
