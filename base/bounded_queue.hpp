// A FIFO with a fixed capacity and no allocation after construction. One thread.
#pragma once

#include "base/check.hpp"

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace penstock {

template <class T>
class bounded_queue {
public:
  /// @param capacity Elements held at most, > 0.
  explicit bounded_queue(size_t capacity) : ring_(capacity) { PS_CHECK(capacity > 0); }

  /// @returns False, and leaves `value` alone, if the queue is full.
  [[nodiscard]] bool push(T&& value) {
    if (count_ == ring_.size())
      return false;
    ring_[(head_ + count_) % ring_.size()] = std::move(value);
    ++count_;
    return true;
  }

  [[nodiscard]] std::optional<T> pop() {
    if (count_ == 0)
      return std::nullopt;
    T value = std::exchange(ring_[head_], T{});
    head_ = (head_ + 1) % ring_.size();
    --count_;
    return value;
  }

  [[nodiscard]] size_t count() const noexcept { return count_; }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] size_t capacity() const noexcept { return ring_.size(); }

private:
  std::vector<T> ring_;
  size_t head_ = 0;
  size_t count_ = 0;
};

} // namespace penstock
