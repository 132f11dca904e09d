#include "actors/session.hpp"

#include "actors/opened_request.hpp"
#include "base/log.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace penstock::actors {

namespace {

/// A wake is armed no further ahead: CAF takes no delayed message back, and until it is delivered
/// it keeps its addressee's memory, so every ended session would stay for its whole budget.
constexpr uint64_t wake_us_max = 1'000'000;

/// What the story needs to know, and why it cannot be served if so.
struct opened {
  request_story::setup setup;
  std::optional<error> wrong;
};

/// @returns What this cluster does not serve.
std::optional<error> not_served(const generate_request& what, const session_world& world) {
  auto over = [](const char* field, uint64_t value, uint64_t limit, const char* unit) {
    return error{errc::invalid_argument, std::string{field} + " is " + std::to_string(value) + unit
                                           + ", over this cluster's limit of "
                                           + std::to_string(limit) + unit};
  };
  if (!what.model.empty() && what.model != world.model)
    return error{errc::unknown_model,
                 "model \"" + what.model + "\" is not served here; this is " + world.model};
  if (what.budget_us > world.budget_us_max)
    return over("budget", what.budget_us / 1000, world.budget_us_max / 1000, " ms");
  if (what.sampling.tokens_max > world.tokens_max)
    return over("tokens_max", what.sampling.tokens_max, world.tokens_max, "");
  return std::nullopt;
}

opened examine(const new_request& r, const session_world& world) {
  opened o;
  auto& s = o.setup;
  s.self = world.post.self();
  s.request = r.request;
  s.sampling = r.what.sampling;
  s.end_ids = world.end_ids;
  s.context_tokens = world.context_tokens;
  s.budget_us = r.what.budget_us;
  s.accepted_at = r.accepted_at;
  s.priority = r.what.priority;
  s.cache_scope = cache_scope_of(r.what, world.tenants_apart);
  s.answer_may_be_cut = !r.what.stop_strings.empty();
  o.wrong = not_served(r.what, world);
  if (o.wrong)
    return o;
  auto request = open_request(r.what, *world.tokens, world.context_tokens);
  if (!request) {
    o.wrong = request.err();
    return o;
  }
  s.prompt = std::move(request->prompt);
  s.prompt_text = std::move(request->text);
  return o;
}

} // namespace

void session_state::open(new_request r, time_us now) {
  sink = r.sink;
  auto o = examine(r, *world);
  text.emplace(*world->tokens);
  held.emplace(std::move(r.what.stop_strings));
  text->skip(o.setup.prompt); // What follows is its continuation.
  story.emplace(std::move(o.setup));
  world->probe.accepted();
  if (o.wrong)
    story->refuse(o.wrong->code, o.wrong->detail, now);
  else
    story->begin(now);
}

void session_state::take_text(time_us now) {
  auto fresh = story->take_tokens();
  for (const auto& t : fresh) {
    auto piece = text->push(t.id);
    held->push(t, piece, text->is_mid_character());
  }
  if (!fresh.empty()) {
    if (last_token_at > 0)
      world->probe.token_gap(now - last_token_at);
    last_token_at = now;
  }
  if (story->ended())
    held->finish(text->flush());
  if (held->stopped())
    story->stop(held->token_count(), now);
  note_wait(now);
}

void session_state::note_wait(time_us now) {
  const auto next = held->waiting();
  if (next == waiting)
    return;
  if (waiting.why != hold_back::reason::none)
    world->probe.held(waiting.why == hold_back::reason::utf8 ? ops::hold_reason::utf8
                                                             : ops::hold_reason::stop_string,
                      now - waiting_since);
  waiting = next;
  waiting_since = now;
}

bool session_state::settle(request_id request, time_us now) {
  take_text(now);
  for (auto& out : story->take_outgoing())
    world->post.send(out.to, out.to_role, {world->post.self(), request, out.attempt},
                     left_us(story->deadline(), now), out.what);
  if (auto ready = held->take(); !ready.empty())
    sink->push(ready.tokens, ready.text);
  if (!story->ended())
    return false;
  auto outcome = story->outcome();
  const auto& names = world->node_names;
  outcome.placement.gateway = names[world->post.self().node];
  if (story->partners()) {
    outcome.placement.prefill = names[story->partners()->prefill.node];
    outcome.placement.decode = names[story->partners()->decode.node];
  }
  world->probe.ended(outcome);
  world->probe.discarded(ops::discard_reason::stop_string, held->dropped_count());
  log::debug("request_ended", {{"request", request},
                               {"reason", name_of(outcome.reason)},
                               {"code", name_of(outcome.code)},
                               {"attempts", outcome.placement.attempts},
                               {"total_us", outcome.timings.total_us}});
  sink->done(outcome);
  return true;
}

caf::behavior session(caf::stateful_actor<session_state>* self, const session_world* world,
                      caf::actor gateway, new_request request) {
  auto id = request.request;
  auto& state = self->state;
  state.world = world;
  state.gateway = std::move(gateway);
  state.open(std::move(request), world->time->now());
  // Wakes are armed for the earliest need; a wake that comes too early arms the next one.
  auto settle = [self, id] {
    auto& s = self->state;
    auto now = s.world->time->now();
    if (s.settle(id, now)) {
      self->send(s.gateway, session_over{id});
      self->quit();
      return;
    }
    auto at = std::min(s.story->wake_at(), now + wake_us_max);
    if (s.wake_armed_at <= now || at < s.wake_armed_at) {
      s.wake_armed_at = at;
      self->delayed_send(self, std::chrono::microseconds(left_us(at, now)), wake_atom_v);
    }
  };
  settle();
  return {
    [self, settle](const schema::message& m) {
      if (auto e = schema::decode(m)) {
        self->state.story->receive(e->header, e->body, self->state.world->time->now());
        settle();
      }
    },
    [self, settle](const session_tokens& t) {
      self->state.story->receive(t.from, t.row, self->state.world->time->now());
      settle();
    },
    [self, settle](const client_gone&) {
      self->state.story->cancel(self->state.world->time->now());
      settle();
    },
    [self, settle](wake_atom) {
      self->state.wake_armed_at = 0;
      self->state.story->tick(self->state.world->time->now());
      settle();
    },
  };
}

} // namespace penstock::actors
