#include "fabric/copy_thread.hpp"

#include "fabric/quiet_thread.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::fabric {

namespace {

// A run's completions are told together: enough bytes to make the hand-over cheap, few enough that
// the owner refills its window while the next run is copied.
constexpr size_t run_bytes_max = size_t{256} << 10U;
constexpr size_t step_bytes = size_t{1} << 20U; // Between looks at give_up_.

} // namespace

copy_thread::copy_thread(size_t queue_max)
  : queue_max_(queue_max), thread_(quiet_thread("fabric-copy", [this] { run(); })) {}

copy_thread::~copy_thread() {
  {
    std::lock_guard lock{mutex_};
    PS_CHECK(queue_.empty());
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

bool copy_thread::push(const copy_job& job) {
  {
    std::lock_guard lock{mutex_};
    if (queue_.size() == queue_max_)
      return false;
    queue_.push_back(job);
    if (busy_ != nullptr)
      return true; // It looks at the queue before it sleeps.
  }
  work_.notify_one();
  return true;
}

void copy_thread::forget(const copy_client* client) {
  PS_CHECK(std::this_thread::get_id() != thread_.get_id());
  std::unique_lock lock{mutex_};
  std::erase_if(queue_, [client](const copy_job& job) { return job.client == client; });
  if (busy_ != client)
    return;
  give_up_.store(true, std::memory_order_relaxed);
  settled_.wait(lock, [this, client] { return busy_ != client; });
}

void copy_thread::run() {
  while (take_run()) {
    copy_run();
    {
      std::lock_guard lock{mutex_};
      busy_ = nullptr;
      give_up_.store(false, std::memory_order_relaxed);
    }
    settled_.notify_all();
  }
}

bool copy_thread::take_run() {
  std::unique_lock lock{mutex_};
  work_.wait(lock, [this] { return stop_ || !queue_.empty(); });
  if (stop_)
    return false;
  run_.clear();
  size_t bytes = 0;
  while (!queue_.empty() && bytes < run_bytes_max) {
    if (!run_.empty() && queue_.front().client != run_.front().client)
      break;
    run_.push_back(queue_.front());
    queue_.pop_front();
    bytes += run_.back().into.size();
  }
  busy_ = run_.front().client;
  return true;
}

void copy_thread::copy_run() {
  const auto& client = *run_.front().client;
  errc code = client.check_source();
  done_.clear();
  for (const auto& job : run_) {
    if (code == errc::ok && !copy(job))
      return;
    done_.push_back({job.cookie, code});
  }
  if (!give_up_.load(std::memory_order_relaxed))
    client.on_done(done_);
}

bool copy_thread::copy(const copy_job& job) {
  for (size_t at = 0; at < job.into.size(); at += step_bytes) {
    if (give_up_.load(std::memory_order_relaxed))
      return false;
    std::memcpy(job.into.data() + at, job.from + at, std::min(step_bytes, job.into.size() - at));
  }
  return true;
}

} // namespace penstock::fabric
