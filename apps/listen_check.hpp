// Finds out, before any node is started, whether the addresses they listen on are free.
#pragma once

#include "base/result.hpp"
#include "cluster/config.hpp"

#include <vector>

namespace penstock::apps {

/// Binds every address of these nodes for a moment. A hint for people: nothing is reserved.
/// @returns errc::unavailable naming the first address that cannot be had, and why.
[[nodiscard]] result<void>
check_listen_addresses(const std::vector<const cluster::node_config*>& nodes);

} // namespace penstock::apps
