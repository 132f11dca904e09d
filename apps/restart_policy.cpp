#include "apps/restart_policy.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace penstock::apps {

restart_policy::restart_policy(restart_limits limits) : limits_(limits) {
  PS_CHECK(limits.backoff_us_min > 0 && limits.backoff_us_max >= limits.backoff_us_min);
}

std::optional<uint64_t> restart_policy::ended(time_us now) {
  while (!recent_.empty() && now - recent_.front() > limits_.window_us)
    recent_.pop_front();
  if (recent_.size() >= limits_.burst)
    return std::nullopt;
  uint64_t wait = limits_.backoff_us_min;
  for (size_t i = 0; i < recent_.size() && wait < limits_.backoff_us_max; ++i)
    wait = wait > limits_.backoff_us_max / 2 ? limits_.backoff_us_max : wait * 2;
  recent_.push_back(now);
  ++granted_;
  return std::min(wait, limits_.backoff_us_max);
}

} // namespace penstock::apps
