// Whether, and after how long, a node that ended is started again. Decides only; no process, no
// clock.
#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <deque>
#include <optional>

namespace penstock::apps {

struct restart_limits {
  uint64_t backoff_us_min = 100'000;   ///< Before the first restart, > 0.
  uint64_t backoff_us_max = 5'000'000; ///< The wait doubles up to this, >= backoff_us_min.
  uint32_t burst = 5;                  ///< Restarts within the window before giving up.
  uint64_t window_us = 60'000'000;     ///< Restarts longer ago than this are forgotten.
};

class restart_policy {
public:
  /// @pre The limits are in their ranges.
  explicit restart_policy(restart_limits limits);

  /// The node ended at `now`. Times must not go back.
  /// @returns How long to wait before starting it again; nothing: give up.
  [[nodiscard]] std::optional<uint64_t> ended(time_us now);

  /// @returns Restarts granted so far, over the policy's life.
  [[nodiscard]] uint32_t restart_count() const noexcept { return granted_; }

private:
  restart_limits limits_;
  std::deque<time_us> recent_; // When each restart of the window was granted.
  uint32_t granted_ = 0;
};

} // namespace penstock::apps
