#include "gpu/host_tier.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::gpu {
namespace {

constexpr kv_layout layout{3, 2, 4, 16, 4, kv_dtype::f32};

struct host_tier_test : ::testing::Test {
  std::vector<std::byte> memory = std::vector<std::byte>(layout.pool_bytes());
  block_copier copier{memory, layout};

  std::span<std::byte> piece(uint32_t layer, uint32_t block) {
    return std::span{memory}.subspan(layout.piece_offset(layer, block), layout.piece_bytes());
  }
  void fill(uint32_t block, int value) {
    for (uint32_t layer = 0; layer < layout.layers; ++layer)
      std::ranges::fill(piece(layer, block), static_cast<std::byte>(value + 10 * layer));
  }
  bool is_filled(uint32_t block, int value) {
    for (uint32_t layer = 0; layer < layout.layers; ++layer)
      for (auto b : piece(layer, block))
        if (b != static_cast<std::byte>(value + 10 * layer))
          return false;
    return true;
  }
};

TEST_F(host_tier_test, a_block_comes_back_into_another_one_and_touches_no_neighbour) {
  host_tier tier{copier, 2 * copier.block_bytes()};
  for (uint32_t block = 0; block < layout.blocks; ++block)
    fill(block, static_cast<int>(block) + 1);
  auto slot = tier.save(1);
  fill(1, 100);
  tier.lift(slot);
  tier.land(slot, 2);
  EXPECT_TRUE(is_filled(0, 1));
  EXPECT_TRUE(is_filled(1, 100));
  EXPECT_TRUE(is_filled(2, 2));
  EXPECT_TRUE(is_filled(3, 4));
  EXPECT_EQ(tier.count(), 0U);
  EXPECT_EQ(tier.saved_count(), 1U);
  EXPECT_EQ(tier.loaded_count(), 1U);
}

TEST_F(host_tier_test, the_limit_counts_whole_blocks) {
  EXPECT_EQ(host_tier(copier, 0).capacity(), 0U);
  EXPECT_EQ(host_tier(copier, copier.block_bytes() - 1).capacity(), 0U);
  EXPECT_EQ(host_tier(copier, 3 * copier.block_bytes() + 1).capacity(), 3U);
  EXPECT_FALSE(host_tier(copier, 0).has_room());
  EXPECT_EQ(host_tier(copier, UINT64_MAX).count(), 0U); // Memory is taken as it is needed.
}

TEST_F(host_tier_test, blocks_change_places_when_it_is_full) {
  host_tier tier{copier, copier.block_bytes()};
  fill(0, 1);
  fill(1, 2);
  auto first = tier.save(0);
  EXPECT_FALSE(tier.has_room());
  tier.lift(first);
  auto second = tier.save(1);
  EXPECT_EQ(tier.count(), 1U);
  tier.land(first, 1);
  EXPECT_TRUE(is_filled(1, 1));
  tier.lift(second);
  tier.put_back(second);
  EXPECT_EQ(tier.count(), 1U);
  tier.lift(second);
  tier.land(second, 0);
  EXPECT_TRUE(is_filled(0, 2));
}

TEST_F(host_tier_test, slots_are_used_again) {
  host_tier tier{copier, copier.block_bytes()};
  for (int i = 0; i < 100; ++i)
    tier.drop(tier.save(0));
  EXPECT_LE(tier.save(0), 1U);
}

} // namespace
} // namespace penstock::gpu
