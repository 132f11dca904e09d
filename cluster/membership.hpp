// Which nodes are alive: heartbeats and time in, events out.
//
// Pure: no clock, no thread, no messages; one owner calls it. A heartbeat counts if its sequence is
// new, so duplicated or late ones neither raise the dead nor prolong a life. A node that was
// declared dead and is heard again with the same incarnation comes back up (a partition healed).
// Invariant: a node's incarnation never goes down.
#pragma once

#include "base/clock.hpp"
#include "base/request.hpp"

#include <cstdint>
#include <vector>

namespace penstock::cluster {

struct membership_event {
  enum class kind : uint8_t {
    up,       ///< Alive now.
    down,     ///< Silent for dead_after.
    replaced, ///< This incarnation is gone for ever; `up` of a later one follows.
  };
  kind what = kind::up;
  node_index node = 0;
  incarnation_id incarnation = 0;
  bool operator==(const membership_event&) const = default;
};

class membership {
public:
  /// @param node_count Nodes in the cluster file.
  /// @param dead_after_us Silence that means death, > 0.
  membership(uint32_t node_count, uint64_t dead_after_us);

  /// Takes one heartbeat. A foreign index or incarnation 0 is ignored.
  /// @param sequence Counts the heartbeats of one incarnation, from 1.
  /// @param now Never below an earlier call's; if it is, the earlier one counts.
  /// @returns The events it caused: none, up, or replaced and up.
  [[nodiscard]] std::vector<membership_event> observe(node_index node, incarnation_id incarnation,
                                                      uint64_t sequence, time_us now);

  /// @returns A `down` for each node alive and silent for dead_after or longer, by index.
  [[nodiscard]] std::vector<membership_event> tick(time_us now);

  [[nodiscard]] bool alive(node_index node) const noexcept;
  /// @returns The latest incarnation seen; 0 if the node was never heard.
  [[nodiscard]] incarnation_id incarnation(node_index node) const noexcept;
  [[nodiscard]] uint32_t alive_count() const noexcept;
  /// @returns Heartbeats known to be lost: gaps between the sequences that counted.
  [[nodiscard]] uint64_t missed() const noexcept { return missed_; }

private:
  struct member {
    incarnation_id incarnation = 0;
    uint64_t sequence = 0;
    time_us heard = 0;
    bool alive = false;
  };

  std::vector<member> members_;
  uint64_t dead_after_us_;
  time_us now_ = 0;
  uint64_t missed_ = 0;
};

} // namespace penstock::cluster
