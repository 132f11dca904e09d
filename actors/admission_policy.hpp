// May a request enter this gateway now, wait, or not at all? Holds counts only, never tokens or KV.
//
// A request reserves its prompt plus all it may generate. What does not fit waits in arrival order;
// what the queue cannot hold is refused with a hint when to come back.
#pragma once

#include "base/clock.hpp"
#include "base/request.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

namespace penstock::actors {

class admission_policy {
public:
  struct limits {
    uint32_t tokens_in_flight_max = 1; ///< Over all open requests, > 0.
    uint32_t queue_max = 0;            ///< Requests waiting.
    uint64_t queue_wait_us_max = 0;    ///< After which a waiting one is refused.
  };
  explicit admission_policy(limits bounds);

  enum class answer : uint8_t { enter, wait };
  /// @param tokens Prompt plus tokens_max, > 0.
  /// @returns errc::overloaded if it can neither enter nor wait. A repeated id enters or waits as
  ///   it does already.
  [[nodiscard]] result<answer> ask(request_id request, uint32_t tokens, time_us now);

  struct turn {
    request_id request = 0;
    uint64_t waited_us = 0;
    bool refused = false; ///< Waited longer than allowed.
  };
  /// A request has ended or given up waiting. Unknown ids are ignored.
  /// @returns Requests that may enter now.
  [[nodiscard]] std::vector<turn> retire(request_id request, time_us now);
  /// @returns Requests whose wait is over, refused.
  [[nodiscard]] std::vector<turn> expire(time_us now);

  /// A hint for refused callers: the time in which the last requests made room, at least 100 ms.
  [[nodiscard]] uint64_t retry_after_us() const noexcept;

  [[nodiscard]] uint32_t tokens_in_flight() const noexcept { return tokens_in_flight_; }
  [[nodiscard]] uint32_t waiting_count() const noexcept {
    return static_cast<uint32_t>(waiting_.size());
  }

private:
  struct waiter {
    request_id request = 0;
    uint32_t tokens = 0;
    time_us since = 0;
  };
  [[nodiscard]] bool fits(uint32_t tokens) const noexcept;
  std::vector<turn> let_in(time_us now);

  limits bounds_;
  uint32_t tokens_in_flight_ = 0; // Sum over open_.
  std::map<request_id, uint32_t> open_;
  std::deque<waiter> waiting_;
  time_us retired_at_ = 0;
  uint64_t gap_us_ = 0; // Smoothed time between endings.
};

} // namespace penstock::actors
