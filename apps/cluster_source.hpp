// Which cluster file a command means, read and checked: FILE, or the built-in default.
#pragma once

#include "cluster/config.hpp"
#include "cluster/plan.hpp"

#include <optional>
#include <string>

namespace penstock::apps {

struct cluster_source {
  std::string file;  ///< Empty: the built-in default.
  std::string model; ///< Not empty: serve this on every node, whatever the file says.

  /// @returns The same choice as options of `penstock node`.
  [[nodiscard]] std::vector<std::string> as_arguments() const;
};

/// Reads the file and prints its mistakes and warnings on stderr.
/// @returns Nothing if there are mistakes.
[[nodiscard]] std::optional<cluster::cluster_config> read_cluster(const cluster_source& from);

/// Loads what the plan needs to know about the cluster's model and makes the plan; prints mistakes.
/// @returns Nothing if there are any.
[[nodiscard]] std::optional<cluster::plan> plan_cluster(const cluster::cluster_config& config);

} // namespace penstock::apps
