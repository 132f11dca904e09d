// The one thread that calls libfabric for a transport: drives what is given to it, else sleeps.
//
// A source that does not drive its completion queue serves nobody, so source and reader ends alike
// are driven here. Idle, it is asleep in poll() on the queues' wait descriptors (fi_trywait first,
// as they demand) and on an eventfd. Knows neither regions nor reads.
#pragma once

#include "fabric/fi_domain.hpp"
#include "fabric/unique_fd.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock::fabric {

/// Something with a completion queue. Every member is called on the progress thread.
class driven {
public:
  using time_point = std::chrono::steady_clock::time_point;

  virtual ~driven() = default;
  /// Posts and reaps what it can without waiting. @returns True if anything moved.
  virtual bool drive(time_point now) = 0;
  /// @returns True if it must be driven again soon though nothing will wake the thread.
  [[nodiscard]] virtual bool is_impatient() const = 0;
  /// Its queue to sleep on, or null; and the queue's descriptor.
  [[nodiscard]] virtual fid* waitable() const = 0;
  [[nodiscard]] virtual int wait_fd() const = 0;
  /// Winds down; driven on until is_finished().
  virtual void finish(time_point now) = 0;
  [[nodiscard]] virtual bool is_finished() const = 0;
};

class progress_thread {
public:
  /// @param fabric Outlives the thread. @returns errc::io_failed without an eventfd.
  [[nodiscard]] static result<std::unique_ptr<progress_thread>> start(fid_fabric* fabric);
  /// @pre Everything driven has been removed.
  ~progress_thread();

  /// Drives `what` from now on. It outlives its removal.
  void add(driven* what);
  /// Finishes `what` and returns when that is done: it is not touched any more.
  /// @pre Not called on the progress thread.
  void remove(driven* what);
  /// Runs `work` on the thread and returns after it. @pre Not called on the progress thread.
  void call(const std::function<void()>& work);
  /// There is something new to drive. Any thread; cheap while the thread is awake.
  void wake();

private:
  progress_thread(fid_fabric* fabric, unique_fd wake);
  void run();
  bool take_orders();
  bool drive_all();
  void sleep();

  fid_fabric* fabric_;
  unique_fd wake_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> called_{false}; // Something new since the thread last looked.
  std::mutex mutex_;
  std::condition_variable obeyed_;
  std::vector<const std::function<void()>*> orders_;
  size_t orders_done_ = 0;
  size_t orders_given_ = 0;
  bool stop_ = false;
  std::vector<driven*> driven_;   // Changed on the thread, under the mutex.
  std::vector<driven*> removing_; // The thread's own.
  std::thread thread_;            // Last: it uses all of the above.
};

} // namespace penstock::fabric
