// The decode role: books sequences, has their KV fetched, steps the batch, reports tokens.
//
// What is promised is bookings' business, what steps is decode_batch's, what lands is the mover's;
// this actor connects them and keeps up to limits::steps_queued_max steps at the device.
#pragma once

#include "actors/bookings.hpp"
#include "actors/decode_batch.hpp"
#include "actors/kv_messages.hpp"
#include "actors/mail.hpp"
#include "actors/node_load.hpp"
#include "ops/probes.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace penstock::actors {

struct decode_setup {
  mail post;
  bookings::limits limits;
  gpu::block_pool* pool = nullptr;    ///< Outlives the actor.
  gpu::prefix_cache* cache = nullptr; ///< Of that pool. Outlives the actor.
  const clock* time = nullptr;        ///< Outlives the actor.
  node_load* load = nullptr;          ///< Outlives the actor.
  ops::decode_probe probe;
  ops::pool_probe kv;
  std::function<caf::actor(const caf::actor& owner)> spawn_device;
  std::function<caf::actor(const caf::actor& owner)> spawn_mover;
  std::chrono::microseconds sweep_every{50'000}; ///< How often deadlines are looked at.
};

struct decode_state {
  static inline const char* name = "decode";
  std::optional<decode_setup> how;
  std::optional<bookings> booked;
  std::optional<decode_batch> batch;
  caf::actor device;
  caf::actor mover;
  uint64_t next_step = 1;
  uint32_t steps_out = 0;
  uint64_t discarded_reported = 0;
  bool had_rows = false; ///< After the last step: the device's idle time since counts.
  /// Published before the booking had its blocks.
  std::map<work_key, std::vector<schema::published>> early;

  void receive(const schema::envelope& e);
  void accept(const schema::header& h, const schema::book& m);
  void on_prefill(const schema::header& h, const schema::body& what);
  void on_peer_down(const schema::node_ref& peer);
  void landed(const kv_landed& m);
  void failed(const kv_failed& m);
  void finished(const gpu::step_output& output);
  void refuse(const work_key& key, const error& why);
  void drop(const work_key& key);
  void sweep();
  void pump();
  void report();
};

caf::behavior decode(caf::stateful_actor<decode_state>* self, decode_setup how);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::decode_setup)
