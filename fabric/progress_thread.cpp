#include "fabric/progress_thread.hpp"

#include "fabric/quiet_thread.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace penstock::fabric {

namespace {

constexpr int impatient_ms = 1; // E.g. a post that the provider would not take yet.
constexpr int idle_ms = 1000;   // Lets a provider look after its connections even if nothing wakes.

} // namespace

result<std::unique_ptr<progress_thread>> progress_thread::start(fid_fabric* fabric) {
  unique_fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!wake)
    return error{errc::io_failed, std::string{"eventfd: "} + std::strerror(errno)};
  return std::unique_ptr<progress_thread>(new progress_thread(fabric, std::move(wake)));
}

progress_thread::progress_thread(fid_fabric* fabric, unique_fd wake)
  : fabric_(fabric), wake_(std::move(wake)),
    thread_(quiet_thread("fabric-progress", [this] { run(); })) {}

progress_thread::~progress_thread() {
  call([this] {
    PS_CHECK(driven_.empty());
    stop_ = true;
  });
  thread_.join();
}

void progress_thread::wake() {
  // Pairs with sleep(): of "something new" and "asleep", one side sees the other's.
  called_.store(true);
  if (asleep_.load()) {
    uint64_t one = 1;
    [[maybe_unused]] auto told = ::write(wake_.get(), &one, sizeof one);
  }
}

void progress_thread::call(const std::function<void()>& work) {
  PS_CHECK(std::this_thread::get_id() != thread_.get_id());
  std::unique_lock lock{mutex_};
  orders_.push_back(&work);
  size_t mine = ++orders_given_;
  lock.unlock();
  wake();
  lock.lock();
  obeyed_.wait(lock, [this, mine] { return orders_done_ >= mine; });
}

void progress_thread::add(driven* what) {
  call([this, what] { driven_.push_back(what); });
}

void progress_thread::remove(driven* what) {
  call([this, what] {
    what->finish(std::chrono::steady_clock::now());
    removing_.push_back(what);
  });
  std::unique_lock lock{mutex_};
  obeyed_.wait(lock, [this, what] {
    return std::find(driven_.begin(), driven_.end(), what) == driven_.end();
  });
}

bool progress_thread::take_orders() {
  std::vector<const std::function<void()>*> orders;
  {
    std::lock_guard lock{mutex_};
    orders.swap(orders_);
  }
  for (const auto* order : orders) {
    std::lock_guard lock{mutex_};
    (*order)();
    ++orders_done_;
  }
  obeyed_.notify_all();
  return !orders.empty();
}

bool progress_thread::drive_all() {
  bool moved = false;
  auto now = std::chrono::steady_clock::now();
  for (auto* each : driven_)
    moved = each->drive(now) || moved;
  for (size_t i = removing_.size(); i > 0; --i) {
    auto* each = removing_[i - 1];
    if (!each->is_finished())
      continue;
    removing_.erase(removing_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    {
      std::lock_guard lock{mutex_};
      std::erase(driven_, each);
    }
    obeyed_.notify_all();
    moved = true;
  }
  return moved;
}

void progress_thread::run() {
  while (!stop_) {
    bool moved = called_.exchange(false) && take_orders();
    moved = drive_all() || moved;
    if (!moved && !stop_)
      sleep();
  }
}

void progress_thread::sleep() {
  std::vector<fid*> queues;
  std::vector<pollfd> at{{wake_.get(), POLLIN, 0}};
  int wait_ms = idle_ms;
  for (const auto* each : driven_) {
    if (each->is_impatient())
      wait_ms = impatient_ms;
    if (auto* queue = each->waitable(); queue != nullptr) {
      queues.push_back(queue);
      at.push_back({each->wait_fd(), POLLIN, 0});
    }
  }
  asleep_.store(true);
  bool may_sleep = !called_.load()
                   && (queues.empty()
                       || fi_trywait(fabric_, queues.data(), static_cast<int>(queues.size())) == 0);
  if (may_sleep)
    ::poll(at.data(), at.size(), wait_ms);
  asleep_.store(false);
  if (at[0].revents != 0) {
    uint64_t count = 0;
    [[maybe_unused]] auto drained = ::read(wake_.get(), &count, sizeof count);
  }
}

} // namespace penstock::fabric
