// This node's view of the cluster: says who it is, hears who others are, places requests.
//
// Death is membership's decision, placement is placement's; this actor feeds them and tells the
// node's roles when a start of a node is gone.
#pragma once

#include "actors/mail.hpp"
#include "actors/node_load.hpp"
#include "cluster/membership.hpp"
#include "cluster/placement.hpp"
#include "ops/health.hpp"
#include "ops/probes.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace penstock::actors {

struct directory_setup {
  mail post;
  std::vector<std::string> node_names; ///< By node index.
  schema::heartbeat identity;          ///< What this node says; load and sequence are filled in.
  uint32_t rows_max = 1;               ///< Decode rows of a node, for placement.
  uint32_t block_tokens = 16;
  uint64_t dead_after_us = 1'500'000;
  std::chrono::microseconds beat_every{250'000};
  const clock* time = nullptr; ///< Outlives the actor.
  node_load* load = nullptr;   ///< Outlives the actor.
  ops::node_probe probe;
  ops::health* health = nullptr; ///< May be null. Outlives the actor.
};

struct directory_state {
  static inline const char* name = "directory";
  struct known {
    schema::node_ref ref;
    schema::heartbeat said;
  };
  std::optional<directory_setup> how;
  std::optional<cluster::membership> members;
  std::map<node_index, known> nodes;
  std::set<schema::node_ref> complained; ///< Incompatible starts already logged.
  std::string misfit; ///< Why a node that lives is no candidate, as last seen; empty: none.
  uint64_t sequence = 0;
  uint64_t missed_reported = 0;

  void beat();
  /// A gateway takes work if somebody could serve it; other nodes as long as they live.
  void report_health();
  void hear(const schema::header& h, const schema::heartbeat& said);
  void tell(const std::vector<cluster::membership_event>& events);
  void place(const schema::header& h, const schema::place& m);
  [[nodiscard]] std::vector<cluster::candidate> candidates();
};

caf::behavior directory(caf::stateful_actor<directory_state>* self, directory_setup how);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::directory_setup)
