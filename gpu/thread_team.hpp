// A fixed team of threads that runs the parts of one piece of work and meets again.
//
// Fork and join only: no queue, no futures, no nesting. The caller's thread is one of the workers.
// Which worker runs which part is left to chance, so parts must not care: each writes its own
// output. One owner calls run(); at most one run at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock::gpu {

class thread_team {
public:
  /// Starts count - 1 threads. @param count Workers, the caller's thread included, > 0.
  /// @param cores One per worker, to pin thread i (from 1 on) to cores[i]; empty: unpinned. The
  /// caller's own thread is left as it is: pin it with pin_this_thread(cores[0]).
  /// A core that cannot be had is skipped: pinning is for speed.
  thread_team(uint32_t count, const std::vector<uint32_t>& cores);
  ~thread_team();
  thread_team(const thread_team&) = delete;
  thread_team& operator=(const thread_team&) = delete;

  /// Calls `part(index, worker)` for each index in [0, parts); worker in [0, size()). Returns when
  /// all have returned; what they wrote is visible.
  template <class Part>
  void run(uint32_t parts, const Part& part) {
    run_erased(parts, &part, [](const void* self, uint32_t index, uint32_t worker) {
      (*static_cast<const Part*>(self))(index, worker);
    });
  }

  [[nodiscard]] uint32_t size() const noexcept {
    return static_cast<uint32_t>(threads_.size()) + 1U;
  }

private:
  using part_call = void (*)(const void* self, uint32_t index, uint32_t worker);

  void run_erased(uint32_t parts, const void* self, part_call call);
  void work(uint32_t worker);
  void take_parts(uint32_t worker);
  uint64_t wait_for_round_after(uint64_t round);
  void wait_for_workers();

  // The work of the round; written before round_ is raised, read after.
  const void* self_ = nullptr;
  part_call call_ = nullptr;
  uint32_t parts_ = 0;
  std::atomic<uint32_t> next_part_{0};

  std::atomic<uint64_t> round_{0};
  std::atomic<uint32_t> working_{0}; ///< Threads that have not finished the round.
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable round_raised_;
  std::condition_variable round_ended_;
  std::vector<std::thread> threads_;
};

/// Pins the calling thread. @returns False if the core cannot be had.
bool pin_this_thread(uint32_t core) noexcept;

} // namespace penstock::gpu
