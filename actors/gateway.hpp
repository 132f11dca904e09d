// The edge of the actors: gives requests ids and sessions, and sessions their messages.
//
// gateway_service is what RPC and HTTP call, from their own threads; it only sends. The actor owns
// the map from id to session. A session that dies without an ending is ended here, so that every
// accepted request ends once as long as the gateway lives.
#pragma once

#include "actors/session.hpp"
#include "schema/service.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <atomic>
#include <map>

namespace penstock::actors {

struct gateway_state {
  static inline const char* name = "gateway";
  struct open_request {
    caf::actor session;
    std::shared_ptr<schema::token_sink> sink; // Shared: to end it if the session dies.
  };
  const session_world* world = nullptr;
  std::map<request_id, open_request> open;

  void route(const schema::message& m);
  void spread(const schema::envelope& e);
};

/// @param world Outlives the actor and its sessions.
caf::behavior gateway(caf::stateful_actor<gateway_state>* self, const session_world* world);

class gateway_service final : public schema::inference_service {
public:
  /// @param world Outlives the service.
  gateway_service(caf::actor gateway, const session_world& world, schema::service_info info);

  request_id generate(generate_request request, std::shared_ptr<schema::token_sink> sink) override;
  void cancel(request_id request) override;
  [[nodiscard]] schema::service_info info() const override { return info_; }

private:
  caf::actor gateway_;
  const session_world& world_;
  schema::service_info info_;
  std::atomic<request_id> next_;
};

} // namespace penstock::actors
