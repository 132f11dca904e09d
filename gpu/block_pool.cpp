#include "gpu/block_pool.hpp"

#include <atomic>

namespace penstock::gpu {

kv_lease::kv_lease(block_pool& pool, std::vector<uint32_t> blocks)
  : pool_(&pool), blocks_(std::move(blocks)) {}

kv_lease::kv_lease(kv_lease&& other) noexcept
  : pool_(std::exchange(other.pool_, nullptr)), blocks_(std::exchange(other.blocks_, {})) {}

kv_lease& kv_lease::operator=(kv_lease&& other) noexcept {
  if (this != &other) {
    if (pool_ != nullptr)
      pool_->release(blocks_);
    pool_ = std::exchange(other.pool_, nullptr);
    blocks_ = std::exchange(other.blocks_, {});
  }
  return *this;
}

kv_lease::~kv_lease() {
  if (pool_ != nullptr)
    pool_->release(blocks_);
}

block_pool::block_pool(std::span<uint64_t> generations) : generations_(generations) {
  PS_CHECK(!generations.empty());
  PS_CHECK(generations.size() <= UINT32_MAX);
  holders_.resize(capacity());
  kept_.resize(capacity());
  free_.reserve(capacity());
  for (uint32_t i = capacity(); i > 0; --i)
    free_.push_back(i - 1);
}

block_pool::~block_pool() {
  PS_CHECK(leased_ == 0); // A lease outlived its pool.
}

void block_pool::take(uint32_t count, std::vector<uint32_t>& into) {
  into.insert(into.end(), free_.end() - count, free_.end());
  for (auto at = free_.end() - count; at != free_.end(); ++at)
    holders_[*at] = 1;
  free_.resize(free_.size() - count);
  leased_ += count;
}

result<kv_lease> block_pool::acquire(uint32_t count) {
  PS_CHECK(count > 0);
  PS_CHECK(count <= capacity());
  kv_lease lease{*this, {}};
  if (auto taken = extend(lease, count); !taken)
    return taken.err();
  return lease;
}

result<void> block_pool::extend(kv_lease& lease, uint32_t count) {
  PS_CHECK(lease.pool_ == this);
  if (count > free_.size())
    return error{errc::out_of_blocks, "want " + std::to_string(count) + " KV blocks, "
                                        + std::to_string(free_.size()) + " of "
                                        + std::to_string(capacity()) + " are free"};
  take(count, lease.blocks_);
  return {};
}

void block_pool::share(kv_lease& lease, std::span<const uint32_t> blocks) {
  PS_CHECK(lease.pool_ == this || lease.pool_ == nullptr);
  lease.pool_ = this;
  for (const uint32_t block : blocks) {
    PS_CHECK(holders_[block] > 0 || kept_[block]);
    if (holders_[block]++ == 0) {
      --cached_;
      ++leased_;
    }
    lease.blocks_.push_back(block);
  }
}

void block_pool::join(kv_lease& lease, kv_lease&& more) {
  if (more.pool_ == nullptr)
    return;
  PS_CHECK(lease.pool_ == more.pool_ || lease.pool_ == nullptr);
  lease.pool_ = std::exchange(more.pool_, nullptr);
  lease.blocks_.insert(lease.blocks_.end(), more.blocks_.begin(), more.blocks_.end());
  more.blocks_.clear();
}

void block_pool::keep(uint32_t block) {
  PS_CHECK(holders_[block] > 0);
  kept_[block] = true;
}

void block_pool::unkeep(uint32_t block) {
  PS_CHECK(kept_[block]);
  kept_[block] = false;
  if (holders_[block] > 0)
    return;
  --cached_;
  make_free({&block, 1});
}

quarantine_id block_pool::quarantine(kv_lease&& lease) {
  PS_CHECK(lease.pool_ == this);
  const quarantine_id id = next_quarantine_++;
  const auto count = static_cast<uint32_t>(lease.blocks_.size());
  for (const uint32_t block : lease.blocks_) {
    PS_CHECK(holders_[block] == 1 && !kept_[block]);
    holders_[block] = 0;
  }
  leased_ -= count;
  quarantined_blocks_ += count;
  quarantined_.emplace(id, std::exchange(lease.blocks_, {}));
  lease.pool_ = nullptr;
  return id;
}

void block_pool::end_quarantine(quarantine_id id) {
  const auto at = quarantined_.find(id);
  PS_CHECK(at != quarantined_.end());
  quarantined_blocks_ -= static_cast<uint32_t>(at->second.size());
  make_free(at->second);
  quarantined_.erase(at);
}

void block_pool::release(std::span<const uint32_t> blocks) {
  std::vector<uint32_t> idle;
  for (const uint32_t block : blocks) {
    PS_CHECK(holders_[block] > 0);
    if (--holders_[block] > 0)
      continue;
    --leased_;
    if (kept_[block])
      ++cached_;
    else
      idle.push_back(block);
  }
  make_free(idle);
}

void block_pool::make_free(std::span<const uint32_t> blocks) {
  PS_CHECK(free_.size() + blocks.size() <= capacity());
  // Acquire too, so that the next holder's writes stay behind the new numbers.
  for (const uint32_t block : blocks)
    std::atomic_ref(generations_[block]).fetch_add(1, std::memory_order_acq_rel);
  free_.insert(free_.end(), blocks.begin(), blocks.end());
}

uint64_t block_pool::generation(uint32_t block) const {
  PS_CHECK(block < capacity());
  return std::atomic_ref(generations_[block]).load(std::memory_order_acquire);
}

block_counts block_pool::counts() const noexcept {
  block_counts out;
  out.capacity = capacity();
  out.free = static_cast<uint32_t>(free_.size());
  out.quarantined = quarantined_blocks_;
  out.leased = leased_;
  out.cached = cached_;
  PS_CHECK(out.free + out.leased + out.cached + out.quarantined == out.capacity);
  return out;
}

} // namespace penstock::gpu
