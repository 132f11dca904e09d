#include "actors/admission.hpp"

namespace penstock::actors {

namespace {

work_key session_key(const mail& post, request_id request) {
  return {post.self(), request, 0};
}

} // namespace

void admission_state::ask(const schema::header& h, const schema::admit& m) {
  auto key = session_key(how->post, h.request);
  auto entered = policy->ask(h.request, m.prompt_tokens + m.tokens_max, how->time->now());
  if (!entered) {
    how->probe.refused(entered.err().code);
    how->post.to_session(
      key, h.budget_us,
      schema::refused{entered.err().code, entered.err().detail, policy->retry_after_us()});
  } else if (*entered == admission_policy::answer::enter) {
    how->probe.admitted();
    how->post.to_session(key, h.budget_us, schema::admitted{0});
  }
  report();
}

void admission_state::answer(const std::vector<admission_policy::turn>& turns) {
  for (const auto& t : turns) {
    auto key = session_key(how->post, t.request);
    if (t.refused) {
      how->probe.refused(errc::overloaded);
      how->post.to_session(
        key, 0,
        schema::refused{errc::overloaded,
                        "waited " + std::to_string(t.waited_us / 1000) + " ms for a place",
                        policy->retry_after_us()});
    } else {
      how->probe.admitted();
      how->post.to_session(key, 0, schema::admitted{t.waited_us});
    }
  }
  report();
}

void admission_state::report() {
  how->probe.load(policy->waiting_count(), policy->tokens_in_flight());
}

caf::behavior admission(caf::stateful_actor<admission_state>* self, admission_setup how) {
  auto& state = self->state;
  state.policy.emplace(how.bounds);
  state.how.emplace(std::move(how));
  self->send(self, tick_atom_v);
  return {
    [self](const schema::message& m) {
      auto& s = self->state;
      auto e = schema::decode(m);
      if (!e)
        return;
      if (const auto* ask = std::get_if<schema::admit>(&e->body))
        s.ask(e->header, *ask);
      else if (std::holds_alternative<schema::retire>(e->body))
        s.answer(s.policy->retire(e->header.request, s.how->time->now()));
    },
    [self](tick_atom) {
      auto& s = self->state;
      s.answer(s.policy->expire(s.how->time->now()));
      self->delayed_send(self, s.how->expire_every, tick_atom_v);
    },
  };
}

} // namespace penstock::actors
