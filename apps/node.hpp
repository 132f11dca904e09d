// One node as a process: builds everything it needs, in order, and takes it down in reverse.
//
// The composition root: here the cluster file's words become devices, transports, actors and
// listeners. Decides nothing else. A broken actor sends SIGUSR1 to the process, which then exits 1.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"
#include "cluster/config.hpp"
#include "cluster/plan.hpp"

#include <memory>

namespace penstock::apps {

class node_process {
public:
  /// Loads the model, makes device and pool, connects, listens. May take seconds.
  /// @returns errc::io_failed for ports and files, errc::invalid_argument, errc::malformed or
  ///   errc::unsupported for what the cluster file or the model ask for.
  [[nodiscard]] static result<std::unique_ptr<node_process>>
  start(const cluster::cluster_config& config, const cluster::plan& plan, node_index index);

  ~node_process();

  /// Refuses new requests, ends open ones, closes listeners, stops all threads. Idempotent.
  void stop();

private:
  struct parts;
  explicit node_process(std::unique_ptr<parts> p);

  std::unique_ptr<parts> parts_; // Hides every library from the commands.
};

} // namespace penstock::apps
