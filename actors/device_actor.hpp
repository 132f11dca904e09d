// Runs a device's steps. The only actor that touches it; detached in a node, pooled in simulation.
#pragma once

#include "actors/protocol.hpp"
#include "ops/health.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>

#include <functional>

namespace penstock::actors {

/// Whom to tell that a step runs, so that a frozen one shows.
struct step_watch {
  ops::health* health = nullptr; ///< May be null. Outlives the actor.
  const clock* time = nullptr;   ///< Outlives the actor.
};

/// Takes step_ptr, answers its owner with gpu::step_output. Its mailbox is the queue in which the
/// second step waits, so the device goes on without waiting for a scheduler.
/// @param device Outlives the actor.
/// @param owner  The scheduler.
/// @param at_start Runs first, on the actor's thread: pins it. May be empty.
caf::behavior device_actor(caf::event_based_actor* self, gpu::device* device, caf::actor owner,
                           std::function<void()> at_start, step_watch watch);

} // namespace penstock::actors
