// How a role of this node says something to a role of any node: one call per message.
#pragma once

#include "actors/protocol.hpp"

#include <caf/actor.hpp>

namespace penstock::actors {

class mail {
public:
  mail() = default; ///< Sends nowhere.
  /// @param self   Which start of which node sends.
  /// @param router This node's router.
  mail(schema::node_ref self, caf::actor router) : self_(self), router_(std::move(router)) {}

  /// Sends one message about `key`'s work. Never blocks, never fails; delivery is not promised.
  /// @param budget_us What is left of the request's time.
  void send(const schema::node_ref& to, schema::role role, const work_key& key, uint64_t budget_us,
            const schema::body& what) const;

  /// To whoever runs the session of `key`.
  void to_session(const work_key& key, uint64_t budget_us, const schema::body& what) const {
    send(key.gateway, schema::role::session, key, budget_us, what);
  }

  /// Passes a message on as it was said, to the role that `h` names.
  void forward(const schema::header& h, const schema::body& what) const;

  [[nodiscard]] const schema::node_ref& self() const noexcept { return self_; }

private:
  schema::node_ref self_;
  caf::actor router_;
};

} // namespace penstock::actors
