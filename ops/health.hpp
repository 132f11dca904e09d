// Whether a node lives, may take work, or is leaving, and since when it made no progress.
//
// Liveness is not progress: a node whose loop is stuck still answers. So whoever does work says so
// and a reader judges by the age of the last progress; a node that is stuck is not ready.
// Thread-safe.
#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <mutex>
#include <string>

namespace penstock::ops {

struct health_view {
  bool alive = true;
  bool ready = false;
  bool draining = false;
  std::string reason;       ///< Why not ready, or why not alive; empty if there is nothing to say.
  time_us progress_age = 0; ///< Microseconds since the last progress.
};

/// @returns "ready", or "not ready: reason", with the age of the last progress; one line.
[[nodiscard]] std::string to_text(const health_view& view);
/// @returns One JSON object with the fields of the view; times in seconds.
[[nodiscard]] std::string to_json(const health_view& view);

class health {
public:
  /// Alive, not ready, reason "starting".
  explicit health(time_us now) : progress_(now) {}

  /// Everything is built; takes work from now on, unless draining.
  void set_ready();
  /// Takes no work for now. @param reason For people, e.g. "no decode node".
  void set_unready(std::string reason);
  /// Finishes what it has, takes nothing new. Final.
  void set_draining();
  /// Will never work again; whatever restarts the process should. Final.
  void set_dead(std::string reason);
  /// A device step begins or has ended. Both are progress.
  void work_began(time_us now);
  void work_ended(time_us now);
  /// The node's loop went round. Progress unless a step is running: that one has to end.
  void went_round(time_us now);

  /// Longer without progress, and the node is not ready: long for a step, short for an operator.
  static constexpr time_us stall_us_max = 10'000'000;

  [[nodiscard]] health_view view(time_us now) const;

private:
  mutable std::mutex mutex_;
  bool alive_ = true;
  bool ready_ = false;
  bool draining_ = false;
  std::string reason_ = "starting";
  uint32_t working_ = 0; // Steps begun and not ended.
  time_us progress_;
};

} // namespace penstock::ops
