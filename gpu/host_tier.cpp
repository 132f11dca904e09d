#include "gpu/host_tier.hpp"

#include <algorithm>

namespace penstock::gpu {

host_tier::host_tier(const block_copier& copier, uint64_t limit_bytes)
  : copier_(copier), capacity_(static_cast<uint32_t>(
                       std::min<uint64_t>(limit_bytes / copier.block_bytes(), UINT32_MAX - 1))) {}

host_tier::slot host_tier::save(uint32_t block) {
  PS_CHECK(has_room());
  if (free_.empty()) {
    PS_CHECK(buffers_.size() <= capacity_); // That many, and one that is lifted.
    free_.push_back(static_cast<slot>(buffers_.size()));
    buffers_.emplace_back(block_bytes());
  }
  auto into = free_.back();
  free_.pop_back();
  copier_.save(block, buffers_[into]);
  ++count_;
  ++saved_;
  return into;
}

void host_tier::drop(slot from) {
  PS_CHECK(from < buffers_.size() && count_ > 0);
  free_.push_back(from);
  --count_;
}

void host_tier::lift(slot from) {
  PS_CHECK(from < buffers_.size() && count_ > 0);
  --count_;
}

void host_tier::land(slot from, uint32_t block) {
  copier_.load(buffers_[from], block);
  free_.push_back(from);
  ++loaded_;
}

void host_tier::put_back(slot from) {
  PS_CHECK(from < buffers_.size() && has_room());
  ++count_;
}

} // namespace penstock::gpu
