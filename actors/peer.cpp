#include "actors/peer.hpp"

namespace penstock::actors {

caf::behavior peer(caf::stateful_actor<peer_state>* self,
                   std::shared_ptr<std::unique_ptr<link>> line, std::chrono::microseconds every,
                   ops::node_probe probe) {
  self->state.probe = std::move(probe);
  self->state.line = std::move(*line);
  self->send(self, tick_atom_v);
  return {
    [self](const schema::message& m) {
      if (!self->state.line->send(m))
        self->state.probe.message_dropped(ops::drop_reason::unreachable);
    },
    [self, every](tick_atom) {
      self->state.line->maintain(*self);
      self->delayed_send(self, every, tick_atom_v);
    },
  };
}

} // namespace penstock::actors
