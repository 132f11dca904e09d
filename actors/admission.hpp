// Serves admission_policy: translates messages, decides nothing.
#pragma once

#include "actors/admission_policy.hpp"
#include "actors/mail.hpp"
#include "ops/probes.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <optional>

namespace penstock::actors {

struct admission_setup {
  mail post;
  admission_policy::limits bounds;
  const clock* time = nullptr; ///< Outlives the actor.
  ops::admission_probe probe;
  std::chrono::microseconds expire_every{50'000}; ///< How often waiting requests are looked at.
};

struct admission_state {
  static inline const char* name = "admission";
  std::optional<admission_setup> how;
  std::optional<admission_policy> policy;

  void ask(const schema::header& h, const schema::admit& m);
  void answer(const std::vector<admission_policy::turn>& turns);
  void report();
};

caf::behavior admission(caf::stateful_actor<admission_state>* self, admission_setup how);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::admission_setup)
