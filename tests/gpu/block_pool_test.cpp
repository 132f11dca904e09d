#include "base/rng.hpp"
#include "gpu/block_pool.hpp"

#include <gtest/gtest.h>

#include <set>

namespace penstock::gpu {
namespace {

TEST(block_pool, takes_nothing_when_short) {
  std::vector<uint64_t> generations(3);
  block_pool pool{generations};
  const auto held = *pool.acquire(2);
  const auto refused = pool.acquire(2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.err().code, errc::out_of_blocks);
  EXPECT_EQ(pool.counts().free, 1U);
  EXPECT_EQ(pool.counts().leased, 2U);
}

TEST(block_pool, gives_back_when_a_lease_dies_or_is_replaced) {
  std::vector<uint64_t> generations(4);
  block_pool pool{generations};
  kv_lease held;
  EXPECT_TRUE(held.blocks().empty());
  held = *pool.acquire(3);
  held = *pool.acquire(1); // The new one is taken before the old one is given back.
  EXPECT_EQ(pool.counts().free, 3U);
  { const kv_lease moved = std::move(held); }
  EXPECT_EQ(pool.counts().free, 4U);
}

TEST(block_pool, extends_a_lease_at_its_end_or_not_at_all) {
  std::vector<uint64_t> generations(4);
  block_pool pool{generations};
  auto held = *pool.acquire(2);
  const std::vector<uint32_t> before(held.blocks().begin(), held.blocks().end());
  EXPECT_TRUE(pool.extend(held, 0));
  ASSERT_TRUE(pool.extend(held, 1));
  ASSERT_EQ(held.blocks().size(), 3U);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), held.blocks().begin()));
  const auto refused = pool.extend(held, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.err().code, errc::out_of_blocks);
  EXPECT_EQ(held.blocks().size(), 3U);
}

TEST(block_pool, a_generation_changes_whenever_a_block_is_given_back) {
  std::vector<uint64_t> generations{41};
  block_pool pool{generations};
  EXPECT_EQ(pool.generation(0), 41U); // Numbers go on from what the memory holds.
  { const auto held = *pool.acquire(1); }
  EXPECT_EQ(pool.generation(0), 42U);
  EXPECT_EQ(generations[0], 42U);
  auto held = *pool.acquire(1);
  EXPECT_EQ(pool.generation(0), 42U);
  const auto id = pool.quarantine(std::move(held));
  EXPECT_EQ(pool.generation(0), 42U);
  EXPECT_FALSE(pool.acquire(1));
  pool.end_quarantine(id);
  EXPECT_EQ(pool.generation(0), 43U);
}

TEST(block_pool, ending_a_quarantine_twice_is_a_bug) {
  std::vector<uint64_t> generations(1);
  block_pool pool{generations};
  const auto id = pool.quarantine(*pool.acquire(1));
  pool.end_quarantine(id);
  EXPECT_DEATH(pool.end_quarantine(id), "check failed");
}

/// The test's own account of who holds what, beside the pool's.
struct account {
  std::vector<uint64_t> generations;
  block_pool pool{generations};
  std::vector<kv_lease> leases;
  std::vector<std::pair<quarantine_id, std::vector<uint32_t>>> quarantined;

  explicit account(uint32_t capacity) : generations(capacity) {}

  void check() {
    std::set<uint32_t> seen;
    uint32_t leased = 0;
    uint32_t apart = 0;
    for (const auto& lease : leases)
      for (const uint32_t block : lease.blocks()) {
        EXPECT_TRUE(seen.insert(block).second);
        ++leased;
      }
    for (const auto& [id, blocks] : quarantined)
      for (const uint32_t block : blocks) {
        EXPECT_TRUE(seen.insert(block).second);
        ++apart;
      }
    const auto counts = pool.counts();
    EXPECT_EQ(counts.leased, leased);
    EXPECT_EQ(counts.quarantined, apart);
    EXPECT_EQ(counts.free + counts.leased + counts.cached + counts.quarantined, counts.capacity);
  }
};

TEST(block_pool, always_adds_up_and_never_gives_a_block_twice) {
  rng draws{11};
  account books{40};
  for (int i = 0; i < 4000; ++i) {
    switch (draws.below(5)) {
    case 0:
      if (auto lease = books.pool.acquire(1 + static_cast<uint32_t>(draws.below(9))))
        books.leases.push_back(*std::move(lease));
      break;
    case 1:
      if (!books.leases.empty())
        (void)books.pool.extend(books.leases[draws.below(books.leases.size())],
                                static_cast<uint32_t>(draws.below(4)));
      break;
    case 2:
      if (!books.leases.empty())
        books.leases.erase(books.leases.begin()
                           + static_cast<ptrdiff_t>(draws.below(books.leases.size())));
      break;
    case 3:
      if (!books.leases.empty()) {
        auto lease = std::move(books.leases.back());
        books.leases.pop_back();
        std::vector<uint32_t> blocks(lease.blocks().begin(), lease.blocks().end());
        books.quarantined.emplace_back(books.pool.quarantine(std::move(lease)), blocks);
      }
      break;
    default:
      if (!books.quarantined.empty()) {
        books.pool.end_quarantine(books.quarantined.back().first);
        books.quarantined.pop_back();
      }
    }
    books.check();
  }
  books.leases.clear();
  for (const auto& [id, blocks] : books.quarantined)
    books.pool.end_quarantine(id);
  books.quarantined.clear();
  EXPECT_EQ(books.pool.counts().free, 40U);
}

} // namespace
} // namespace penstock::gpu
