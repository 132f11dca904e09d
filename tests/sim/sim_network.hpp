// The seeded network of a simulation: what nodes send waits here until its time comes.
//
// Drops, delays, duplicates, reorders (by delay) and cuts one way. One thread; the seed decides
// all.
#pragma once

#include "actors/link.hpp"
#include "base/clock.hpp"
#include "base/rng.hpp"

#include <caf/actor.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

namespace penstock::sim {

/// Time that only the simulation moves.
class sim_clock final : public clock {
public:
  [[nodiscard]] time_us now() const noexcept override { return now_; }
  void advance(uint64_t by) noexcept { now_ += by; }

private:
  time_us now_ = 1'000'000; // Not 0: deadlines in the past must be expressible.
};

/// Chances are of 1000 per message.
struct network_faults {
  uint32_t drop = 0;
  uint32_t duplicate = 0;
  uint32_t delay = 0; ///< Of being late by up to delay_us_max, which also reorders.
  uint64_t delay_us_max = 200'000;
};

class sim_network {
public:
  sim_network(rng draws, const sim_clock& time) : draws_(draws), time_(time) {}

  /// What node `to`'s messages are delivered to; a null actor is a dead node.
  void set_router(node_index to, caf::actor router) { routers_[to] = std::move(router); }
  void set_faults(network_faults f) { faults_ = f; }
  /// Cuts or heals the way from one node to another.
  void cut(node_index from, node_index to, bool yes);

  void send(node_index from, node_index to, const schema::message& m);
  /// Delivers what is due. @returns Messages delivered.
  size_t deliver();
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

  [[nodiscard]] std::unique_ptr<actors::link> make_link(node_index from, node_index to);

private:
  struct parcel {
    node_index to = 0;
    schema::message what;
  };
  void post(uint64_t late_us, node_index to, const schema::message& m);

  rng draws_;
  const sim_clock& time_;
  network_faults faults_;
  std::map<node_index, caf::actor> routers_;
  std::set<std::pair<node_index, node_index>> cuts_;
  std::multimap<time_us, parcel> waiting_;
};

} // namespace penstock::sim
