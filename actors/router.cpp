#include "actors/router.hpp"

#include "base/log.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

void router_state::deliver(const schema::message& m) {
  auto header = schema::decode_header(m);
  if (!header) {
    ++dropped;
    log::warn("message_malformed", {{"detail", header.err().detail}});
    return;
  }
  const auto& h = *header;
  if (h.to.node != self.node) {
    auto peer = peers.find(h.to.node);
    if (h.from.node == self.node && peer != peers.end())
      caf::anon_send(peer->second, m);
    else
      ++dropped; // We relay for nobody.
    return;
  }
  if (h.to.incarnation != 0 && h.to.incarnation != self.incarnation) {
    ++dropped; // For an earlier start of this node.
    return;
  }
  if (h.from.node != self.node) {
    auto& known = newest[h.from.node];
    if (h.from.incarnation < known) {
      ++dropped;
      return;
    }
    known = h.from.incarnation;
  }
  // Sessions are many; the gateway knows which is whose.
  auto role = h.to_role == schema::role::session ? schema::role::gateway : h.to_role;
  auto who = roles.find(role);
  if (who != roles.end())
    caf::anon_send(who->second, m);
  else
    ++dropped;
}

caf::behavior router(caf::stateful_actor<router_state>* self, schema::node_ref me) {
  self->state.self = me;
  return {
    [self](const schema::message& m) { self->state.deliver(m); },
    [self](const set_role& r) { self->state.roles[r.role] = r.who; },
    [self](const set_peer& p) { self->state.peers[p.node] = p.who; },
  };
}

} // namespace penstock::actors
