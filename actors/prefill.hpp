// The prefill role: takes prompts, runs their chunks on its device, has finished blocks published.
//
// What runs when is prefill_queue's business; this actor keeps up to limits::steps_queued_max steps
// at the device and frees blocks when decode has landed them, gives up, or dies.
#pragma once

#include "actors/kv_messages.hpp"
#include "actors/mail.hpp"
#include "actors/node_load.hpp"
#include "actors/prefill_queue.hpp"
#include "ops/probes.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <deque>
#include <functional>
#include <optional>

namespace penstock::actors {

struct prefill_setup {
  mail post;
  prefill_queue::options limits;
  gpu::block_pool* pool = nullptr;    ///< Outlives the actor.
  gpu::prefix_cache* cache = nullptr; ///< Of that pool. Outlives the actor.
  const clock* time = nullptr;        ///< Outlives the actor.
  node_load* load = nullptr;          ///< Outlives the actor.
  ops::prefill_probe probe;
  ops::pool_probe kv;
  std::function<caf::actor(const caf::actor& owner)> spawn_device;
  std::function<caf::actor()> spawn_publisher;
  std::chrono::microseconds sweep_every{50'000}; ///< How often deadlines are looked at.
};

struct prefill_state {
  static inline const char* name = "prefill";
  std::optional<prefill_setup> how;
  std::optional<prefill_queue> queue;
  caf::actor device;
  caf::actor publisher;
  uint64_t next_step = 1;
  std::deque<uint32_t> steps_out; ///< Tokens of each unfinished step, oldest first.

  void receive(const schema::envelope& e);
  void accept(const schema::header& h, const schema::prefill& m);
  void finished(const gpu::step_output& output);
  void fail_all(const gpu::step_output& output);
  void sweep();
  void pump();
};

caf::behavior prefill(caf::stateful_actor<prefill_state>* self, prefill_setup how);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::prefill_setup)
