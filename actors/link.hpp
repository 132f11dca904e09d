// What a peer actor sends through: CAF's middleman between processes, a seeded queue in simulation.
#pragma once

#include "actors/protocol.hpp"

#include <caf/event_based_actor.hpp>

namespace penstock::actors {

class link {
public:
  virtual ~link() = default;

  /// Sends, or drops if there is no connection. Never blocks.
  /// @returns False if it was dropped.
  virtual bool send(const schema::message& m) = 0;

  /// Called by the owning peer actor at once and then every tick: keeps the connection up.
  /// @param owner Where asynchronous work is done.
  virtual void maintain(caf::event_based_actor& owner) = 0;
};

} // namespace penstock::actors
