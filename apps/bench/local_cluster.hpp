// Nodes of a cluster file as children of this process, for the length of a measurement.
//
// Not `penstock up`: a node that dies stays dead, because figures from before and after would not
// be of one thing. All die with this process.
#pragma once

#include "apps/child_process.hpp"
#include "base/result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace penstock::apps::bench {

class local_cluster {
public:
  /// Starts a node per name and waits until all take work.
  /// @param file The cluster file. @param give_up Asked while waiting; true ends it.
  /// @returns errc::unavailable if a node ends first or takes too long.
  [[nodiscard]] static result<local_cluster> start(const std::string& file,
                                                   const std::vector<std::string>& nodes,
                                                   const std::function<bool()>& give_up);

  /// @returns The name of a node that has ended; empty while all run.
  [[nodiscard]] std::string ended();

  local_cluster(local_cluster&&) noexcept = default;
  local_cluster& operator=(local_cluster&&) noexcept = default;
  /// Stops every node: politely, then not.
  ~local_cluster();

private:
  local_cluster() = default;

  std::vector<child_process> nodes_;
  std::vector<std::string> names_; ///< Of the same nodes.
};

/// @returns Ports of loopback that were free a moment ago, all different; below the range the
///   system takes from for outgoing connections. errc::unavailable if there are not so many.
[[nodiscard]] result<std::vector<uint16_t>> free_ports(size_t count);

} // namespace penstock::apps::bench
