#include "base/rng.hpp"
#include "gpu/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <optional>

namespace penstock::gpu {
namespace {

constexpr uint32_t block_tokens = 4;

struct prefix_cache_test : ::testing::Test {
  std::vector<uint64_t> generations = std::vector<uint64_t>(8);
  block_pool pool{generations};
  prefix_cache cache{pool, block_tokens};

  static std::vector<token_id> counting(token_id first, size_t count) {
    std::vector<token_id> ids(count);
    std::iota(ids.begin(), ids.end(), first);
    return ids;
  }
  static std::vector<uint32_t> blocks_of(const kv_lease& lease) {
    return {lease.blocks().begin(), lease.blocks().end()};
  }
};

TEST_F(prefix_cache_test, finds_whole_blocks_of_what_was_inserted) {
  auto prompt = counting(1, 10);
  auto held = *cache.acquire(3);
  cache.insert(prompt, held.blocks());
  EXPECT_EQ(cache.count(), 2U); // The part block is not entered.
  auto hit = cache.find(prompt, 10);
  ASSERT_EQ(hit.blocks().size(), 2U);
  EXPECT_EQ(hit.blocks()[0], held.blocks()[0]);
  EXPECT_EQ(cache.find(prompt, 7).blocks().size(), 1U); // Ends mid-block: the whole ones before.
  EXPECT_EQ(cache.find(counting(2, 10), 10).blocks().size(), 0U);
}

TEST_F(prefix_cache_test, a_longer_prompt_hits_its_common_prefix) {
  auto held = *cache.acquire(2);
  cache.insert(counting(1, 8), held.blocks());
  auto longer = counting(1, 8);
  longer.insert(longer.end(), {90, 91, 92, 93});
  EXPECT_EQ(cache.find(longer, 12).blocks().size(), 2U);
  longer[5] = 77;
  EXPECT_EQ(cache.find(longer, 12).blocks().size(), 1U);
}

TEST_F(prefix_cache_test, scopes_do_not_see_each_other) {
  auto held = *cache.acquire(1);
  cache.insert(counting(1, 4), held.blocks(), "a");
  EXPECT_EQ(cache.find(counting(1, 4), 4).blocks().size(), 0U);
  EXPECT_EQ(cache.find(counting(1, 4), 4, "a").blocks().size(), 1U);
}

TEST_F(prefix_cache_test, the_same_scope_shares_whatever_bytes_it_is_made_of) {
  const std::string scope{"\0\xff tenant", 9};
  auto held = *cache.acquire(2);
  cache.insert(counting(1, 4), held.blocks().first(1), scope);
  cache.insert(counting(1, 4), held.blocks().last(1), std::string_view{scope}.substr(0, 1));
  EXPECT_EQ(blocks_of(cache.find(counting(1, 4), 4, scope)).at(0), held.blocks()[0]);
  EXPECT_EQ(blocks_of(cache.find(counting(1, 4), 4, scope.substr(0, 1))).at(0), held.blocks()[1]);
  EXPECT_EQ(cache.scope_count(), 2U);
}

TEST_F(prefix_cache_test, a_scope_is_forgotten_with_its_last_entry) {
  for (int i = 0; i < 100; ++i) {
    auto held = *cache.acquire(2);
    cache.insert(counting(1, 8), held.blocks(), "scope " + std::to_string(i));
    EXPECT_LE(cache.scope_count(), 4U); // Eight blocks of two each.
  }
  cache.clear();
  EXPECT_EQ(cache.scope_count(), 0U);
  EXPECT_EQ(cache.find(counting(1, 8), 8, "scope 99").blocks().size(), 0U);
}

TEST_F(prefix_cache_test, a_scope_that_is_too_long_is_not_cached) {
  const std::string longest(prefix_cache::scope_bytes_max, 'x');
  auto held = *cache.acquire(1);
  cache.insert(counting(1, 4), held.blocks(), longest + "x");
  EXPECT_EQ(cache.count(), 0U);
  cache.insert(counting(1, 4), held.blocks(), longest);
  EXPECT_EQ(cache.find(counting(1, 4), 4, longest).blocks().size(), 1U);
  EXPECT_EQ(cache.find(counting(1, 4), 4, longest + "x").blocks().size(), 0U);
}

TEST_F(prefix_cache_test, what_holds_nothing_whole_leaves_no_scope) {
  auto held = *cache.acquire(1);
  cache.insert(counting(1, 3), held.blocks(), "a");
  cache.insert(counting(1, 4), {}, "b");
  cache.insert(counting(1, 4), held.blocks(), "c");
  cache.insert(counting(9, 4), held.blocks(), "d"); // The block stands for something else.
  EXPECT_EQ(cache.scope_count(), 1U);
}

TEST_F(prefix_cache_test, what_a_lookup_holds_outlives_every_eviction) {
  auto prompt = counting(1, 12);
  {
    auto held = *cache.acquire(3);
    cache.insert(prompt, held.blocks());
  }
  auto hit = cache.find(prompt, 8);
  auto rest = *cache.acquire(6); // Takes the third block, which the lookup did not hold.
  EXPECT_FALSE(cache.acquire(1));
  cache.clear();
  EXPECT_EQ(cache.count(), 2U);
  EXPECT_EQ(blocks_of(cache.find(prompt, 12)), blocks_of(hit));
}

TEST_F(prefix_cache_test, idle_blocks_are_cached_and_come_back_with_their_generation) {
  uint64_t generation = 0;
  {
    auto held = *cache.acquire(1);
    cache.insert(counting(1, 4), held.blocks());
    generation = pool.generation(held.blocks()[0]);
  }
  EXPECT_EQ(pool.counts().cached, 1U);
  auto hit = cache.find(counting(1, 4), 4);
  EXPECT_EQ(pool.counts().cached, 0U);
  EXPECT_EQ(pool.counts().leased, 1U);
  EXPECT_EQ(pool.generation(hit.blocks()[0]), generation); // Its content never changed.
}

TEST_F(prefix_cache_test, evicts_the_least_recently_used_leaf_and_never_one_in_use) {
  auto old = counting(1, 8);
  auto young = counting(50, 8);
  {
    auto a = *cache.acquire(2);
    cache.insert(old, a.blocks());
    auto b = *cache.acquire(2);
    cache.insert(young, b.blocks());
  }
  auto some = *cache.acquire(5);                     // One more than is free.
  EXPECT_EQ(cache.find(old, 8).blocks().size(), 1U); // Its leaf went, its root is still right.
  auto pinned = cache.find(young, 8);
  ASSERT_EQ(pinned.blocks().size(), 2U);
  EXPECT_TRUE(cache.acquire(1));
  EXPECT_FALSE(cache.acquire(2)); // Only the pinned ones are left.
  EXPECT_EQ(cache.find(old, 8).blocks().size(), 0U);
}

TEST_F(prefix_cache_test, what_two_rows_computed_is_entered_once) {
  auto first = *cache.acquire(1);
  auto second = *cache.acquire(1);
  cache.insert(counting(1, 4), first.blocks());
  cache.insert(counting(1, 4), second.blocks());
  EXPECT_EQ(blocks_of(cache.find(counting(1, 4), 4)), blocks_of(first));
  second = kv_lease{};
  EXPECT_EQ(pool.counts().free, 7U);
}

TEST_F(prefix_cache_test, dropping_the_cache_frees_everything) {
  {
    auto held = *cache.acquire(4);
    cache.insert(counting(1, 16), held.blocks());
  }
  EXPECT_EQ(pool.counts().cached, 4U);
  cache.clear();
  EXPECT_EQ(pool.counts().free, 8U);
}

/// Finds, inserts, evicts and holds at random; each block remembers what was written into it.
TEST_F(prefix_cache_test, a_hit_always_holds_the_prefix_it_says) {
  struct row {
    std::vector<token_id> tokens;
    kv_lease lease;
  };
  for (uint64_t seed = 0; seed < 60; ++seed) {
    rng draw{seed};
    std::map<uint32_t, std::vector<token_id>> written; // Whole prefix up to the block's end.
    std::vector<row> rows;
    for (int turn = 0; turn < 200; ++turn) {
      if (draw.below(2) == 0 && !rows.empty()) {
        rows.erase(rows.begin() + static_cast<ptrdiff_t>(draw.below(rows.size())));
        continue;
      }
      std::vector<token_id> tokens(1 + draw.below(14));
      for (auto& id : tokens)
        id = static_cast<token_id>(draw.below(2)); // Many common prefixes.
      auto hit = cache.find(tokens, static_cast<uint32_t>(tokens.size()) - 1);
      for (size_t i = 0; i < hit.blocks().size(); ++i)
        ASSERT_EQ(written[hit.blocks()[i]],
                  std::vector<token_id>(tokens.begin(),
                                        tokens.begin() + static_cast<ptrdiff_t>((i + 1) * 4)))
          << "seed " << seed;
      auto total = (tokens.size() + 3) / 4;
      auto fresh = cache.acquire(static_cast<uint32_t>(total - hit.blocks().size()));
      if (!fresh)
        continue;
      block_pool::join(hit, *std::move(fresh));
      for (size_t i = 0; i < tokens.size() / 4; ++i)
        written[hit.blocks()[i]].assign(tokens.begin(),
                                        tokens.begin() + static_cast<ptrdiff_t>((i + 1) * 4));
      cache.insert(tokens, hit.blocks());
      rows.push_back({tokens, std::move(hit)});
      auto c = pool.counts();
      ASSERT_EQ(c.free + c.leased + c.cached + c.quarantined, c.capacity);
    }
    rows.clear();
    cache.clear();
    ASSERT_EQ(pool.counts().free, 8U) << "seed " << seed;
  }
}

} // namespace
} // namespace penstock::gpu
