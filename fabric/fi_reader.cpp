#include "fabric/fi_reader.hpp"

#include <array>
#include <string>

namespace penstock::fabric {

fi_reader::fi_reader(fi_end end, fi_addr_t peer, libfabric_descriptor source,
                     const fi_reader_limits& limits, transport::done_handler on_done)
  : source_(std::move(source)), limits_(limits), on_done_(std::move(on_done)), end_(std::move(end)),
    peer_(peer), slots_(limits.reads_max) {
  for (auto& each : slots_)
    free_.push_back(&each);
}

result<void> fi_reader::read(uint64_t offset, std::span<std::byte> into, void* local_key,
                             uint64_t cookie) {
  if (into.empty() || into.size() > limits_.read_bytes_max
      || !in_bounds(offset, into.size(), source_.size_bytes))
    return error{errc::invalid_argument, "read of " + std::to_string(into.size()) + " bytes at "
                                           + std::to_string(offset) + " of "
                                           + std::to_string(source_.size_bytes)};
  std::lock_guard lock{mutex_};
  if (broken_ != errc::ok)
    return error{broken_, "the connection to the source is broken; open it again"};
  if (free_.empty())
    return error{errc::overloaded, std::to_string(slots_.size()) + " reads in flight"};
  auto* mine = free_.back();
  free_.pop_back();
  mine->cookie = cookie;
  mine->offset = offset;
  mine->into = into;
  mine->local_key = local_key;
  posts_.push_back(mine);
  return {};
}

fid* fi_reader::waitable() const {
  return end_ ? &end_->completions->fid : nullptr;
}

void fi_reader::take_posts() {
  std::lock_guard lock{mutex_};
  backlog_.insert(backlog_.end(), posts_.begin(), posts_.end());
  posts_.clear();
}

bool fi_reader::drive(time_point now) {
  if (!end_)
    return false;
  take_posts();
  bool moved = reap();
  if (!draining_)
    moved = post(now) || moved;
  if (moved)
    moved_at_ = now;
  if (refused_ && !draining_ && now - moved_at_ > limits_.post_within)
    break_off(errc::peer_lost, now);
  if (draining_ && (in_flight_ == 0 || now - moved_at_ > limits_.quiet))
    close_end();
  tell();
  return moved;
}

bool fi_reader::post(time_point now) {
  bool moved = false;
  bool was_refused = std::exchange(refused_, false);
  while (!backlog_.empty() && in_flight_ < limits_.reads_posted_max) {
    auto* next = backlog_.front();
    auto status
      = fi_read(end_->endpoint.get(), next->into.data(), next->into.size(), next->local_key, peer_,
                source_.base + next->offset, source_.key, &next->context);
    if (status == -FI_EAGAIN) {
      refused_ = true;
      if (!was_refused)
        moved_at_ = now;
      break;
    }
    if (status != 0) {
      break_off(fi_error(status, "posting a read").code, now);
      break;
    }
    backlog_.pop_front();
    next->busy = true;
    ++in_flight_;
    moved = true;
  }
  return moved;
}

bool fi_reader::reap() {
  std::array<fi_cq_entry, 64> entries{};
  auto got = fi_cq_read(end_->completions.get(), entries.data(), entries.size());
  if (got == -FI_EAGAIN)
    return false;
  if (got < 0) {
    reap_error();
    return true;
  }
  for (size_t i = 0; i < static_cast<size_t>(got); ++i) {
    auto* ended = reinterpret_cast<slot*>(entries[i].op_context);
    PS_CHECK(ended >= slots_.data() && ended < slots_.data() + slots_.size() && ended->busy);
    ended->busy = false;
    --in_flight_;
    done_.push_back({ended->cookie, errc::ok});
    std::lock_guard lock{mutex_};
    free_.push_back(ended);
  }
  return got > 0;
}

void fi_reader::reap_error() {
  fi_cq_err_entry entry{};
  auto now = std::chrono::steady_clock::now();
  if (fi_cq_readerr(end_->completions.get(), &entry, 0) != 1) {
    break_off(errc::transfer_failed, now);
    return;
  }
  errc code = fi_error(-entry.err, "a read").code;
  for (auto& each : slots_) {
    if (!each.busy || entry.op_context != &each.context)
      continue;
    each.busy = false;
    --in_flight_;
    done_.push_back({each.cookie, code});
  }
  break_off(code, now);
}

void fi_reader::break_off(errc code, time_point now) {
  {
    std::lock_guard lock{mutex_};
    if (broken_ == errc::ok)
      broken_ = code;
    backlog_.insert(backlog_.end(), posts_.begin(), posts_.end());
    posts_.clear();
  }
  for (const auto* never_posted : backlog_)
    done_.push_back({never_posted->cookie, code});
  backlog_.clear();
  if (!draining_)
    moved_at_ = now;
  draining_ = true;
}

void fi_reader::close_end() {
  end_.reset(); // Nothing lands after this.
  std::lock_guard lock{mutex_};
  for (auto& each : slots_)
    if (std::exchange(each.busy, false))
      done_.push_back({each.cookie, broken_});
  in_flight_ = 0;
}

void fi_reader::finish(time_point now) {
  silent_ = true;
  done_.clear();
  if (end_)
    break_off(errc::cancelled, now);
}

void fi_reader::tell() {
  if (!silent_ && !done_.empty())
    on_done_(done_);
  done_.clear();
}

} // namespace penstock::fabric
