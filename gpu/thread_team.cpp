#include "gpu/thread_team.hpp"

#include "base/check.hpp"

#include <pthread.h>

namespace penstock::gpu {

namespace {

/// Looks at a flag this often before sleeping: a few microseconds, the length of a short phase.
constexpr int spins_max = 2000;

template <class Ready>
bool spin_until(const Ready& ready) {
  for (int i = 0; i < spins_max; ++i) {
    if (ready())
      return true;
    __builtin_ia32_pause();
  }
  return false;
}

} // namespace

bool pin_this_thread(uint32_t core) noexcept {
  if (core >= CPU_SETSIZE)
    return false;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
}

thread_team::thread_team(uint32_t count, const std::vector<uint32_t>& cores) {
  PS_CHECK(count > 0);
  PS_CHECK(cores.empty() || cores.size() == count);
  threads_.reserve(count - 1);
  for (uint32_t worker = 1; worker < count; ++worker) {
    const bool pinned = !cores.empty();
    const uint32_t core = pinned ? cores[worker] : 0;
    threads_.emplace_back([this, worker, pinned, core] {
      if (pinned)
        (void)pin_this_thread(core);
      work(worker);
    });
  }
}

thread_team::~thread_team() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
    round_.fetch_add(1);
  }
  round_raised_.notify_all();
  for (auto& thread : threads_)
    thread.join();
}

void thread_team::run_erased(uint32_t parts, const void* self, part_call call) {
  if (parts <= 1 || threads_.empty()) {
    for (uint32_t i = 0; i < parts; ++i)
      call(self, i, 0);
    return;
  }
  self_ = self;
  call_ = call;
  parts_ = parts;
  next_part_.store(0, std::memory_order_relaxed);
  working_.store(static_cast<uint32_t>(threads_.size()), std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_); // A thread about to sleep must not miss the round.
    round_.fetch_add(1, std::memory_order_release);
  }
  round_raised_.notify_all();
  take_parts(0);
  wait_for_workers();
}

void thread_team::take_parts(uint32_t worker) {
  for (;;) {
    const uint32_t index = next_part_.fetch_add(1, std::memory_order_relaxed);
    if (index >= parts_)
      return;
    call_(self_, index, worker);
  }
}

void thread_team::work(uint32_t worker) {
  uint64_t round = 0;
  for (;;) {
    round = wait_for_round_after(round);
    if (stop_.load(std::memory_order_acquire))
      return;
    take_parts(worker);
    if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::lock_guard lock(mutex_);
      round_ended_.notify_one();
    }
  }
}

uint64_t thread_team::wait_for_round_after(uint64_t round) {
  const auto raised = [this, round] { return round_.load(std::memory_order_acquire) != round; };
  if (!spin_until(raised)) {
    std::unique_lock lock(mutex_);
    round_raised_.wait(lock, raised);
  }
  return round_.load(std::memory_order_acquire);
}

void thread_team::wait_for_workers() {
  const auto ended = [this] { return working_.load(std::memory_order_acquire) == 0; };
  if (!spin_until(ended)) {
    std::unique_lock lock(mutex_);
    round_ended_.wait(lock, ended);
  }
}

} // namespace penstock::gpu
