#include "base/clock.hpp"

#include <chrono>

namespace penstock {

time_us steady_clock::now() const noexcept {
  auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<time_us>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

} // namespace penstock
