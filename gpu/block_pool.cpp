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
  free_.reserve(capacity());
  for (uint32_t i = capacity(); i > 0; --i)
    free_.push_back(i - 1);
}

block_pool::~block_pool() {
  PS_CHECK(leased_ == 0); // A lease outlived its pool.
}

void block_pool::take(uint32_t count, std::vector<uint32_t>& into) {
  into.insert(into.end(), free_.end() - count, free_.end());
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

quarantine_id block_pool::quarantine(kv_lease&& lease) {
  PS_CHECK(lease.pool_ == this);
  const quarantine_id id = next_quarantine_++;
  const auto count = static_cast<uint32_t>(lease.blocks_.size());
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
  PS_CHECK(blocks.size() <= leased_);
  leased_ -= static_cast<uint32_t>(blocks.size());
  make_free(blocks);
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
  PS_CHECK(out.free + out.leased + out.cached + out.quarantined == out.capacity);
  return out;
}

} // namespace penstock::gpu
