#include "actors/router.hpp"

#include "base/log.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

void router_state::deliver(const schema::message& m) {
  auto header = schema::decode_header(m);
  if (!header) {
    probe.message_dropped(ops::drop_reason::malformed);
    log::warn("message_malformed", {{"detail", header.err().detail}});
    return;
  }
  const auto& h = *header;
  if (h.to.node != self.node) {
    auto peer = peers.find(h.to.node);
    if (h.from.node == self.node && peer != peers.end())
      caf::anon_send(peer->second, m);
    else
      probe.message_dropped(ops::drop_reason::stranger); // We relay for nobody.
    return;
  }
  if (h.to.incarnation != 0 && h.to.incarnation != self.incarnation) {
    probe.message_dropped(ops::drop_reason::stale);
    return;
  }
  if (h.from.node != self.node) {
    auto& known = newest[h.from.node];
    if (h.from.incarnation < known) {
      probe.message_dropped(ops::drop_reason::stale);
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
    probe.message_dropped(ops::drop_reason::stranger);
}

caf::behavior router(caf::stateful_actor<router_state>* self, schema::node_ref me,
                     ops::node_probe probe) {
  self->state.self = me;
  self->state.probe = std::move(probe);
  return {
    [self](const schema::message& m) { self->state.deliver(m); },
    [self](const set_role& r) { self->state.roles[r.role] = r.who; },
    [self](const set_peer& p) { self->state.peers[p.node] = p.who; },
  };
}

} // namespace penstock::actors
