// An inference_service that does what a test tells it, and remembers what was asked of it.
#pragma once

#include "schema/service.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace penstock::schema::testing {

class fake_service final : public inference_service {
public:
  using script = std::function<void(const generate_request&, token_sink&)>;

  /// @param on_generate Runs within generate(), on the server's thread. May be empty.
  explicit fake_service(script on_generate = {}) : script_(std::move(on_generate)) {}

  request_id generate(generate_request request, std::shared_ptr<token_sink> sink) override {
    request_id id = 0;
    {
      std::lock_guard lock{mutex_};
      id = ++last_;
      requests_.push_back(request);
      sinks_[id] = sink;
    }
    changed_.notify_all();
    if (script_)
      script_(request, *sink);
    return id;
  }

  void cancel(request_id request) override {
    {
      std::lock_guard lock{mutex_};
      cancelled_.push_back(request);
    }
    changed_.notify_all();
  }

  [[nodiscard]] service_info info() const override {
    return {"1.2.3", "a model", "abcdef", 4096, "avx2-1"};
  }

  /// Waits, generously, until `count` requests have come.
  /// @returns The sink of the last of them; null if they did not come.
  std::shared_ptr<token_sink> wait_for_request(size_t count = 1) {
    std::unique_lock lock{mutex_};
    if (!changed_.wait_for(lock, patience, [&] { return requests_.size() >= count; }))
      return nullptr;
    return sinks_[count];
  }

  bool wait_for_cancel(size_t count = 1) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, patience, [&] { return cancelled_.size() >= count; });
  }

  std::vector<request_id> cancelled() {
    std::lock_guard lock{mutex_};
    return cancelled_;
  }

  std::vector<generate_request> requests() {
    std::lock_guard lock{mutex_};
    return requests_;
  }

private:
  static constexpr std::chrono::seconds patience{20};

  script script_;
  std::mutex mutex_;
  std::condition_variable changed_;
  request_id last_ = 0;
  std::vector<generate_request> requests_;
  std::map<request_id, std::shared_ptr<token_sink>> sinks_;
  std::vector<request_id> cancelled_;
};

inline generate_request small_request(uint32_t tokens_max = 16) {
  generate_request r;
  r.prompt = "Once upon a time";
  r.sampling.tokens_max = tokens_max;
  r.budget_us = 60'000'000;
  return r;
}

inline generate_outcome ending(finish_reason reason, errc code = errc::ok) {
  generate_outcome o;
  o.reason = reason;
  o.code = code;
  return o;
}

/// Pushes tokens 0 .. count-1, one by one, each with its number as text.
inline void push_numbers(token_sink& sink, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i) {
    generated_token t{i, -static_cast<float>(i)};
    sink.push({&t, 1}, std::to_string(i) + " ");
  }
}

} // namespace penstock::schema::testing
