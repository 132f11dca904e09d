// Puts one node's actors together and watches them.
//
// Everything with a choice in it (devices, pools, links, transports, clocks) comes from outside, so
// that a process and the simulation build the same node. Start order is bottom up; stop is reverse.
#pragma once

#include "actors/admission.hpp"
#include "actors/decode.hpp"
#include "actors/directory.hpp"
#include "actors/gateway.hpp"
#include "actors/guardrail.hpp"
#include "actors/kv_mover.hpp"
#include "actors/link.hpp"
#include "actors/prefill.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::actors {

/// What a gateway node adds.
struct gateway_part {
  session_world world; ///< `post` is filled in.
  admission_policy::limits admission;
  ops::admission_probe admission_probe;
  std::shared_ptr<const guardrail_rules> rules; // Shared: see guardrail_setup.
  ops::guardrail_probe guardrail_probe;
};

/// What a prefill node adds.
struct prefill_part {
  gpu::device* device = nullptr;
  std::function<void()> pin_device; ///< Runs on the device actor's thread; may be empty.
  gpu::block_pool* pool = nullptr;
  gpu::prefix_cache* cache = nullptr;
  prefill_queue::options limits;
  ops::prefill_probe probe;
  ops::pool_probe kv;
};

/// What a decode node adds.
struct decode_part {
  gpu::device* device = nullptr;
  std::function<void()> pin_device; ///< Runs on the device actor's thread; may be empty.
  gpu::block_pool* pool = nullptr;
  gpu::prefix_cache* cache = nullptr;
  bookings::limits limits;
  kv_mover_setup mover; ///< `owner` is filled in.
  ops::decode_probe probe;
  ops::pool_probe kv;
};

struct node_parts {
  schema::node_ref self;
  std::vector<std::string> node_names;      ///< By node index.
  std::vector<std::unique_ptr<link>> links; ///< By node index; null for this node.
  schema::heartbeat identity;
  uint32_t rows_max = 1;
  uint32_t block_tokens = 16;
  uint64_t dead_after_us = 1'500'000;
  std::chrono::microseconds beat_every{250'000};
  std::chrono::microseconds link_every{200'000}; ///< How often links are looked after.
  const clock* time = nullptr;
  ops::node_probe probe;
  ops::health* health = nullptr; ///< Told of readiness and progress; may be null.
  bool detached = true; ///< Devices and movers get threads of their own; false in simulation.
  std::optional<gateway_part> gateway;
  std::optional<prefill_part> prefill;
  std::optional<decode_part> decode;
};

/// A running node. Its parts must outlive stop().
class node {
public:
  node(caf::actor_system& system, node_parts parts);
  ~node();
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// What other nodes' links connect to.
  [[nodiscard]] const caf::actor& router() const noexcept { return router_; }
  [[nodiscard]] const caf::actor& gateway() const noexcept { return gateway_; }
  [[nodiscard]] const session_world& world() const noexcept { return parts_.gateway->world; }

  /// Every actor that must live for the node to work, in start order.
  [[nodiscard]] const std::vector<caf::actor>& actors() const noexcept { return all_; }

  /// Ends every actor, in reverse order of start. Does not wait.
  void stop();

private:
  void start_gateway();
  void start_prefill();
  void start_decode();
  void report_capacity(const gpu::block_pool& pool);
  std::function<caf::actor(const caf::actor& owner)> device_spawner(gpu::device* device,
                                                                    std::function<void()> pin);
  void keep(const caf::actor& a) { all_.push_back(a); }

  caf::actor_system& system_;
  node_parts parts_;
  node_load load_;
  caf::actor router_;
  caf::actor gateway_;
  std::vector<caf::actor> all_;
};

} // namespace penstock::actors
