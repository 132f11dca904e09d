// Decode's half of the KV hand-over: the only actor that touches the fabric.
//
// Opens a prefill node's memory once per start, posts the reads that the transfers ask for, and
// tells decode when all has landed, when it failed, and when dropped blocks are quiet. It is
// detached in a node, because opening a source blocks and digesting takes time.
#pragma once

#include "actors/kv_flow.hpp"
#include "actors/kv_messages.hpp"
#include "base/digest.hpp"
#include "fabric/transport.hpp"
#include "ops/probes.hpp"

#include <caf/actor.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::actors {

struct kv_mover_setup {
  caf::actor owner;                           ///< Decode.
  gpu::device* device = nullptr;              ///< Its pool is the destination. Outlives the actor.
  std::span<std::byte> scratch;               ///< kv_flows::scratch_bytes_for(...), registered.
  std::vector<fabric::transport*> transports; ///< Outlive the actor.
  std::string wanted = "auto";                ///< Transport by name, or auto.
  digest128 host;                             ///< fabric::host_identity() of this process.
  fabric::transfer_limits limits;
  const clock* time = nullptr; ///< Outlives the actor.
  std::function<ops::transfer_probe(std::string_view transport)> probe_for;
  /// How long dropped blocks wait for their reads before the source is closed.
  uint64_t drop_grace_us = 500'000;
  std::chrono::microseconds sweep_every{100'000};
};

struct kv_mover_state {
  static inline const char* name = "kv_mover";
  struct source {
    kv_source what;
    std::unique_ptr<fabric::remote_region> region;
    uint64_t opening = 0;
    std::string transport;
    ops::transfer_probe probe;
  };
  caf::actor self;
  std::optional<kv_mover_setup> how;
  std::optional<kv_flows> flows;
  std::map<schema::node_ref, source> sources;
  uint64_t next_opening = 1;

  /// Opens a source's memory, or logs why it cannot be; its transfers then fail or try again.
  [[nodiscard]] result<void> open(source& s);
  [[nodiscard]] result<void> try_open(source& s);
  void close_region(source& s);
  void expect(const kv_expect& m);
  void published(const kv_published& m);
  void drop(const work_key& key);
  void source_gone(const schema::node_ref& node);
  void reads_done(const kv_reads_done& m);
  void sweep();
  void post(source& s, kv_flow& flow);
  void settle(source& s, const work_key& key);
  void settle_all(const schema::node_ref& node);
};

caf::behavior kv_mover(caf::stateful_actor<kv_mover_state>* self, kv_mover_setup how);

} // namespace penstock::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::kv_mover_setup)
