// Prefill's half of the KV hand-over: digests finished blocks and tells decode where they are.
//
// An actor of its own so that digests are made on the service core while the device computes the
// next chunk. It reads blocks that prefill has leased and no step writes any more.
#pragma once

#include "actors/kv_messages.hpp"
#include "actors/mail.hpp"

#include <caf/event_based_actor.hpp>

namespace penstock::actors {

/// @param device Outlives the actor; its pool is read.
caf::behavior kv_publisher(caf::event_based_actor* self, mail post, gpu::device* device);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::mail)
