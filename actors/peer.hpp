// The only way to another node: one actor per remote node, sending through its link.
#pragma once

#include "actors/link.hpp"
#include "ops/node_probe.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <chrono>
#include <memory>

namespace penstock::actors {

struct peer_state {
  static inline const char* name = "peer";
  std::unique_ptr<link> line;
  ops::node_probe probe;
};

/// @param line  Owned. A shared_ptr only because CAF copies spawn arguments; nobody else keeps it.
/// @param every How often the link is looked after.
/// @param probe Counts messages that found no connection.
caf::behavior peer(caf::stateful_actor<peer_state>* self,
                   std::shared_ptr<std::unique_ptr<link>> line, std::chrono::microseconds every,
                   ops::node_probe probe);

} // namespace penstock::actors
