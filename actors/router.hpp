// Delivers messages: to a role of this node, or to the peer actor of another.
//
// The only one who knows both. It drops, and counts, what is for an earlier start of this node or
// from an earlier start of another: after a restart nobody acts on the old one's words.
#pragma once

#include "actors/protocol.hpp"
#include "ops/node_probe.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <map>

namespace penstock::actors {

/// Tells a router who plays a role here.
struct set_role {
  schema::role role = schema::role::session;
  caf::actor who;
};

/// Tells a router which actor leads to a node.
struct set_peer {
  node_index node = 0;
  caf::actor who;
};

struct router_state {
  static inline const char* name = "router";
  schema::node_ref self;
  std::map<schema::role, caf::actor> roles;
  std::map<node_index, caf::actor> peers;
  std::map<node_index, incarnation_id> newest; ///< Latest start heard of, per node.
  ops::node_probe probe;

  void deliver(const schema::message& m);
};

/// @param probe Counts what is dropped.
caf::behavior router(caf::stateful_actor<router_state>* self, schema::node_ref me,
                     ops::node_probe probe);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::set_role)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::set_peer)
