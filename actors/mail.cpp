#include "actors/mail.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

void mail::send(const schema::node_ref& to, schema::role role, const work_key& key,
                uint64_t budget_us, const schema::body& what) const {
  schema::header h;
  h.from = self_;
  h.to = to;
  h.to_role = role;
  h.request = key.request;
  h.attempt = key.attempt;
  h.budget_us = budget_us;
  forward(h, what);
}

void mail::forward(const schema::header& h, const schema::body& what) const {
  caf::anon_send(router_, schema::encode(h, what));
}

} // namespace penstock::actors
