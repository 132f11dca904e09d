// Serves guardrail_rules: a text in, a verdict out.
#pragma once

#include "actors/guardrail_rules.hpp"
#include "actors/mail.hpp"
#include "ops/probes.hpp"

#include <caf/event_based_actor.hpp>

#include <memory>

namespace penstock::actors {

struct guardrail_setup {
  mail post;
  std::shared_ptr<const guardrail_rules> rules; ///< Shared: compiled once, survives a restart.
  ops::guardrail_probe probe;
};

caf::behavior guardrail(caf::event_based_actor* self, guardrail_setup how);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::guardrail_setup)
