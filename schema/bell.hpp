// How other threads wake an event loop: a bell (eventfd) and a post box with one.
//
// No kj here, so that any thread may use it: the loop's side watches fd(). Ringing never blocks.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

namespace penstock::schema {

/// Aborts if the process has no file descriptor left when it is built.
class bell {
public:
  bell();
  ~bell();
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;

  /// Any thread; also from a signal handler.
  void ring() noexcept;
  /// Makes fd() unreadable until the next ring(). The loop's thread.
  void hush() noexcept;
  [[nodiscard]] int fd() const noexcept { return fd_; }

private:
  int fd_;
};

/// Things left for a loop. Its bound is the caller's: it holds what is added until it is taken.
template <class T>
class post_box {
public:
  /// Any thread. Ignored after close().
  void add(T thing) {
    bool first = false;
    {
      std::lock_guard lock{mutex_};
      if (closed_)
        return;
      first = things_.empty();
      things_.push_back(std::move(thing));
    }
    if (first)
      bell_.ring();
  }

  /// Tells the loop to end. Any thread.
  void close() {
    {
      std::lock_guard lock{mutex_};
      closed_ = true;
    }
    bell_.ring();
  }

  /// @returns What was added since the last call, in order. The loop's thread.
  [[nodiscard]] std::vector<T> take() {
    bell_.hush();
    std::lock_guard lock{mutex_};
    return std::exchange(things_, {});
  }

  [[nodiscard]] bool closed() const {
    std::lock_guard lock{mutex_};
    return closed_;
  }

  [[nodiscard]] bell& waker() noexcept { return bell_; }

private:
  mutable std::mutex mutex_;
  std::vector<T> things_;
  bool closed_ = false;
  bell bell_;
};

} // namespace penstock::schema
