// One request's actor: carries request_story's messages, turns tokens into text, ends once.
//
// Spawned by the gateway per request, on the gateway's node. It owns the reply: decode never waits
// for a slow client, because the sink only queues.
#pragma once

#include "actors/hold_back.hpp"
#include "actors/mail.hpp"
#include "actors/request_story.hpp"
#include "model/detokenizer.hpp"
#include "model/tokenizer.hpp"
#include "ops/probes.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::actors {

/// What every session of a gateway shares. Outlives them all.
struct session_world {
  mail post;
  const clock* time = nullptr;
  const model::tokenizer* tokens = nullptr;
  ops::session_probe probe;
  std::string model; ///< The served model's name.
  uint32_t context_tokens = 0;
  std::vector<token_id> end_ids;
  std::vector<std::string> node_names; ///< By node index.
  uint32_t tokens_max = 0;             ///< Cap on a request's max_tokens.
  uint64_t budget_us_max = 0;
  bool tenants_apart = false; ///< Tenants share no cached prefixes.
};

/// A row of decode's `tokens` message, for the session it concerns.
struct session_tokens {
  schema::node_ref from;
  schema::tokens::row row;
};

struct session_state {
  static inline const char* name = "session";
  const session_world* world = nullptr;
  caf::actor gateway;
  std::shared_ptr<schema::token_sink> sink; // Shared with the edge.
  std::optional<request_story> story;
  std::optional<model::detokenizer> text;
  std::optional<hold_back> held; // What is not the client's yet.
  time_us last_token_at = 0;
  time_us wake_armed_at = 0;
  hold_back::wait waiting; // What `held` keeps, since when.
  time_us waiting_since = 0;

  void open(new_request r, time_us now);
  /// New tokens to text; ends the story at a stop string.
  void take_text(time_us now);
  /// Reports how long text was held, once it is held no longer.
  void note_wait(time_us now);
  /// Sends what the story wants sent, hands tokens on; true if the request has ended.
  bool settle(request_id request, time_us now);
};

/// @param world Outlives the session.
caf::behavior session(caf::stateful_actor<session_state>* self, const session_world* world,
                      caf::actor gateway, new_request request);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::session_tokens)
