// Keeps this thread, and those it starts, on one core for as long as the object lives.
#pragma once

#include <sched.h>

#include <cstdint>

namespace penstock::apps::bench {

class core_pin {
public:
  /// @param core One this process may run on; else nothing happens.
  explicit core_pin(uint32_t core) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~core_pin() { sched_setaffinity(0, sizeof before_, &before_); }
  core_pin(const core_pin&) = delete;
  core_pin& operator=(const core_pin&) = delete;

private:
  cpu_set_t before_{};
};

} // namespace penstock::apps::bench
