// The only way to another node: one actor per remote node, sending through its link.
#pragma once

#include "actors/link.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <chrono>
#include <memory>

namespace penstock::actors {

struct peer_state {
  static inline const char* name = "peer";
  std::unique_ptr<link> line;
  uint64_t dropped = 0; ///< Messages that found no connection.
};

/// @param line  Owned. A shared_ptr only because CAF copies spawn arguments; nobody else keeps it.
/// @param every How often the link is looked after.
caf::behavior peer(caf::stateful_actor<peer_state>* self,
                   std::shared_ptr<std::unique_ptr<link>> line, std::chrono::microseconds every);

} // namespace penstock::actors
