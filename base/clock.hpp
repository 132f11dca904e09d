// Time as a dependency. Decisions take a time point; only the edges read a clock.
#pragma once

#include <cstdint>

namespace penstock {

/// Microseconds since an arbitrary start; never goes back.
using time_us = uint64_t;

class clock {
public:
  virtual ~clock() = default;
  [[nodiscard]] virtual time_us now() const noexcept = 0;
};

/// The machine's monotonic clock. Stateless; any thread.
class steady_clock final : public clock {
public:
  [[nodiscard]] time_us now() const noexcept override;
};

} // namespace penstock
