// Turns Ctrl-C (and SIGTERM) into a call, for as long as the object lives.
//
// Make it before any other thread: signals are blocked in this thread and those it starts. No
// handler, no global: a thread of its own waits for the signal.
#pragma once

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace penstock::apps {

class interrupt_watch {
public:
  interrupt_watch();
  ~interrupt_watch();
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;

  /// From now on calls `on_interrupt`, from the watch's thread, once. Call this at most once.
  /// @param on_interrupt What it uses outlives this object.
  void start(std::function<void()> on_interrupt);

  /// @returns True once a signal came.
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

private:
  sigset_t watched_{};
  sigset_t mask_before_{};
  std::atomic<bool> interrupted_{false};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

} // namespace penstock::apps
