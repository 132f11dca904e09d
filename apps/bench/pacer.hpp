// When a load's next request is due. Closed loop: a fixed number is open, an end makes room for the
// next. Open loop: requests come at times of their own, however the server does.
//
// Decides only; whoever sends reads the clock. A request is counted from the time it was due, not
// from when it was sent: a late generator cannot hide a wait (coordinated omission).
#pragma once

#include "base/clock.hpp"
#include "base/rng.hpp"

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

namespace penstock::apps::bench {

/// A Poisson process: gaps are independent and exponential.
class poisson_arrivals {
public:
  /// @param per_second Mean rate, > 0.
  poisson_arrivals(double per_second, uint64_t seed) : per_second_(per_second), random_(seed) {}
  /// @returns Microseconds since the start; never falls.
  time_us next();

private:
  double per_second_;
  rng random_;
  double at_us_ = 0.0;
};

/// Equal gaps.
class even_arrivals {
public:
  even_arrivals(time_us first, time_us gap) : next_(first), gap_(gap) {}
  time_us next() {
    auto out = next_;
    next_ += gap_;
    return out;
  }

private:
  time_us next_;
  time_us gap_;
};

/// Times somebody wrote down.
struct listed_arrivals {
  std::vector<time_us> at; ///< Ascending, in microseconds since the start.
};

struct closed_loop {
  uint32_t concurrency = 1; ///< > 0.
};

using pacing = std::variant<closed_loop, poisson_arrivals, even_arrivals, listed_arrivals>;

struct pacer_limits {
  uint64_t requests_max = UINT64_MAX; ///< No more are due after that many.
  time_us duration_max = UINT64_MAX;  ///< None is due that long after the start, or later.
};

class pacer {
public:
  pacer(pacing how, pacer_limits limits);

  /// Nothing is due before. Times given and taken are microseconds since this moment.
  /// @returns When the next request is due; nothing while an end must come first, or if finished().
  [[nodiscard]] std::optional<time_us> due() const { return due_; }
  /// Takes the request that is due. @returns When it was. There must be one.
  time_us take();
  /// A request ended.
  void ended(time_us at);
  /// No request will be due any more.
  [[nodiscard]] bool finished() const { return finished_; }

private:
  void advance();

  pacing how_;
  pacer_limits limits_;
  std::vector<time_us> free_; ///< Closed loop: since when each free place is free; a stack.
  std::optional<time_us> due_;
  uint64_t taken_ = 0;
  size_t listed_ = 0;
  bool finished_ = false;
};

} // namespace penstock::apps::bench
