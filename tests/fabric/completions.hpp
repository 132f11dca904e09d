// Gathers a region's completions across threads. For tests.
#pragma once

#include "fabric/transport.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>

namespace penstock::fabric {

class completions {
public:
  [[nodiscard]] transport::done_handler handler() {
    return [this](std::span<const read_done> done) {
      std::lock_guard lock{mutex_};
      for (const auto& each : done)
        codes_.emplace(each.cookie, each.code);
      came_.notify_all();
    };
  }
  /// @returns True once `count` reads have completed; false if that takes too long to be right.
  [[nodiscard]] bool wait_for(size_t count) {
    std::unique_lock lock{mutex_};
    return came_.wait_for(lock, std::chrono::seconds(30),
                          [this, count] { return codes_.size() >= count; });
  }
  /// The same for one read.
  [[nodiscard]] bool wait_until(uint64_t cookie) {
    std::unique_lock lock{mutex_};
    return came_.wait_for(lock, std::chrono::seconds(30),
                          [this, cookie] { return codes_.count(cookie) > 0; });
  }
  [[nodiscard]] size_t count() {
    std::lock_guard lock{mutex_};
    return codes_.size();
  }
  [[nodiscard]] errc code(uint64_t cookie) {
    std::lock_guard lock{mutex_};
    return codes_.at(cookie);
  }

private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<uint64_t, errc> codes_;
};

} // namespace penstock::fabric
