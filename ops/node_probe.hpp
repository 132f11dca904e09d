// What a node as a whole reports: who it is, whom it sees, what it could not deliver.
//
// Only counts; decides nothing. Names are in probes.cpp.
#pragma once

#include "ops/instruments.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::ops {

/// Why a message between nodes was not delivered.
enum class drop_reason : uint8_t {
  malformed,  ///< Its header cannot be read.
  stale,      ///< For an earlier start of this node, or from an earlier start of another.
  stranger,   ///< For a node or a role that is not here.
  unreachable ///< No connection to its node.
};

struct node_probe {
  void heartbeats_missed(uint64_t count) const { missed_.add(static_cast<double>(count)); }
  void peers_alive(uint32_t count) const { peers_.set(count); }
  void message_dropped(drop_reason why) const { dropped_[static_cast<size_t>(why)].add(); }

  counter restarts_, missed_;
  std::array<counter, 4> dropped_; ///< By drop_reason.
  gauge info_, started_, peers_;
};

/// What a node says about itself, once.
struct node_identity {
  std::string name;         ///< From the cluster file.
  std::string roles;        ///< "gateway", "gateway+prefill", ...
  std::string version;      ///< Of this build.
  std::string numerics;     ///< The numerics id; empty on a node without a device.
  double start_seconds = 0; ///< Unix time of the process's start.
  uint64_t restarts = 0;    ///< How often the supervisor restarted this node; see restarts_from().
};

/// @param text The supervisor's PENSTOCK_RESTARTS, or null. @returns The count; 0 if it is none.
[[nodiscard]] uint64_t restarts_from(const char* text) noexcept;

} // namespace penstock::ops
