// The actor system of one node: how many threads, where it listens, what happens if an actor dies.
#pragma once

#include "base/result.hpp"

#include <caf/actor.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace caf {
class actor_system;
} // namespace caf

namespace penstock::actors {

class node_system {
public:
  node_system();
  /// Waits until every actor has ended.
  ~node_system();
  node_system(const node_system&) = delete;
  node_system& operator=(const node_system&) = delete;

  [[nodiscard]] caf::actor_system& caf();

  /// Lets other nodes connect to `router`.
  /// @returns errc::io_failed if the address cannot be listened on.
  [[nodiscard]] result<void> publish(const caf::actor& router, const std::string& address,
                                     uint16_t port);

  /// From now on the end of any of these is a failure of the process: it is logged, and SIGUSR1
  /// tells the main thread.
  void watch(const std::vector<caf::actor>& all);
  /// Actors may end now: the node stops.
  void expect_the_end();

private:
  struct state;
  std::unique_ptr<state> state_; // Hides CAF's configuration.
};

/// Pins the calling thread, and those it will start. A core that cannot be had is skipped.
void pin_to_core(uint32_t core);

} // namespace penstock::actors
