#include "actors/gateway.hpp"

#include "base/log.hpp"
#include "base/rng.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

namespace {

/// First id of a start: node in the top byte, then bits that differ between starts, then a counter.
request_id first_id(const schema::node_ref& self) {
  auto start = mix64(self.incarnation) >> 40U;
  return (static_cast<request_id>(self.node & 0xFFU) << 56U) | (start << 32U) | 1U;
}

generate_outcome lost_session() {
  generate_outcome o;
  o.reason = finish_reason::failed;
  o.code = errc::internal;
  o.detail = "the session ended without an answer; please report this";
  return o;
}

} // namespace

void gateway_state::route(const schema::message& m) {
  auto header = schema::decode_header(m);
  if (!header)
    return;
  if (header->to_role == schema::role::session) {
    auto at = open.find(header->request);
    if (at != open.end())
      caf::anon_send(at->second.session, m);
  } else if (auto e = schema::decode(m)) {
    spread(*e);
  }
}

void gateway_state::spread(const schema::envelope& e) {
  if (const auto* batch = std::get_if<schema::tokens>(&e.body)) {
    for (const auto& row : batch->rows) {
      auto at = open.find(row.request);
      if (at != open.end()) {
        caf::anon_send(at->second.session, session_tokens{e.header.from, row});
        continue;
      }
      world->probe.discarded(ops::discard_reason::late, row.generated.size());
      if (!row.finished) // Decode has not heard that it ended.
        world->post.send(e.header.from, schema::role::decode,
                         {world->post.self(), row.request, row.attempt}, 0, schema::cancel{});
    }
  } else if (std::holds_alternative<schema::peer_down>(e.body)) {
    auto m = schema::encode(e.header, e.body);
    for (const auto& [id, request] : open)
      caf::anon_send(request.session, m);
  }
}

caf::behavior gateway(caf::stateful_actor<gateway_state>* self, const session_world* world) {
  self->state.world = world;
  self->set_down_handler([self](const caf::down_msg& down) {
    for (auto at = self->state.open.begin(); at != self->state.open.end(); ++at)
      if (at->second.session == down.source) {
        log::error("session_died", {{"request", at->first}});
        at->second.sink->done(lost_session());
        self->state.open.erase(at);
        return;
      }
  });
  return {
    [self](const schema::message& m) { self->state.route(m); },
    [self](new_request& r) {
      auto& s = self->state;
      auto id = r.request;
      auto sink = r.sink;
      auto actor = self->spawn<caf::monitored>(session, s.world, caf::actor{self}, std::move(r));
      s.open.emplace(id, gateway_state::open_request{actor, std::move(sink)});
    },
    [self](const session_over& over) { self->state.open.erase(over.request); },
    [self](const client_gone& gone) {
      auto at = self->state.open.find(gone.request);
      if (at != self->state.open.end())
        self->send(at->second.session, gone);
    },
  };
}

gateway_service::gateway_service(caf::actor gateway, const session_world& world,
                                 schema::service_info info)
  : gateway_(std::move(gateway)), world_(world), info_(std::move(info)),
    next_(first_id(world.post.self())) {}

request_id gateway_service::generate(generate_request request,
                                     std::shared_ptr<schema::token_sink> sink) {
  new_request r;
  r.request = next_++;
  r.what = std::move(request);
  r.sink = std::move(sink);
  r.accepted_at = world_.time->now();
  auto id = r.request;
  caf::anon_send(gateway_, std::move(r));
  return id;
}

void gateway_service::cancel(request_id request) {
  caf::anon_send(gateway_, client_gone{request});
}

} // namespace penstock::actors
