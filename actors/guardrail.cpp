#include "actors/guardrail.hpp"

namespace penstock::actors {

caf::behavior guardrail(caf::event_based_actor*, guardrail_setup how) {
  return {
    [how](const schema::message& m) {
      auto e = schema::decode(m);
      if (!e)
        return;
      if (const auto* text = std::get_if<schema::screen>(&e->body)) {
        auto verdict = how.rules->judge(text->text);
        auto outcome = verdict.timed_out ? ops::verdict_outcome::timeout
                       : verdict.allowed ? ops::verdict_outcome::allow
                                         : ops::verdict_outcome::block;
        how.probe.judged(outcome, verdict.took_us);
        how.post.to_session(key_of(how.post.self(), e->header), e->header.budget_us, verdict);
      }
    },
  };
}

} // namespace penstock::actors
