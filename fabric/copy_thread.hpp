// One thread that copies bytes, in the order asked for, and says so. Knows no socket, no mapping.
//
// A copy that is asked for after another's completion loads its bytes after the other's did: both
// pass through the mutex. A hand-over leans on that when it reads generations last.
// The queue is bounded. Nothing is asked for from inside a handler's call, and no client is
// forgotten from there.
#pragma once

#include "fabric/transport.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace penstock::fabric {

/// For whom bytes are copied. Stays where it is until copy_thread::forget() has returned.
struct copy_client {
  transport::done_handler on_done;
  /// Asked before each run of copies, on the copy thread: ok, or the code they all end with.
  std::function<errc()> check_source;
};

struct copy_job {
  copy_client* client = nullptr;
  const std::byte* from = nullptr;
  std::span<std::byte> into;
  uint64_t cookie = 0;
};

class copy_thread {
public:
  /// @param queue_max Jobs waiting at most, > 0.
  explicit copy_thread(size_t queue_max);
  /// @pre Every client has been forgotten.
  ~copy_thread();

  /// @returns False if the queue is full.
  [[nodiscard]] bool push(const copy_job& job);

  /// Drops the client's jobs and waits for the one being copied and for its handler. Afterwards
  /// nothing of its destinations is written, and no handler of its is called.
  void forget(const copy_client* client);

private:
  void run();
  [[nodiscard]] bool take_run();
  void copy_run();
  [[nodiscard]] bool copy(const copy_job& job);

  std::mutex mutex_;
  std::condition_variable work_;    // A job came, or the end.
  std::condition_variable settled_; // A run ended.
  std::deque<copy_job> queue_;
  size_t queue_max_;
  const copy_client* busy_ = nullptr; // Whose run is being copied.
  bool stop_ = false;
  std::atomic<bool> give_up_{false}; // busy_ is being forgotten.
  std::vector<copy_job> run_;        // The copy thread's own.
  std::vector<read_done> done_;      // The copy thread's own.
  std::thread thread_;               // Last: it uses all of the above.
};

} // namespace penstock::fabric
