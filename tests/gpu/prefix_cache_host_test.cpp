// What leaves the pool for host memory and comes back, one case at a time.
#include "gpu/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace penstock::gpu {
namespace {

constexpr uint32_t capacity = 4;
constexpr kv_layout layout{2, 1, 2, 16, capacity, kv_dtype::f32};
constexpr uint32_t block_tokens = layout.block_tokens;
constexpr uint64_t block_bytes = layout.piece_bytes() * layout.layers;
using token_list = std::vector<token_id>;

struct prefix_cache_host_test : ::testing::Test {
  std::vector<uint64_t> generations = std::vector<uint64_t>(capacity);
  std::vector<std::byte> memory = std::vector<std::byte>(layout.pool_bytes());
  block_pool pool{generations};
  host_tier tier{block_copier{memory, layout}, 8 * block_bytes};
  prefix_cache cache{pool, block_tokens, &tier};

  /// `blocks` blocks and a part of one, which no other `kind` begins with.
  static token_list prompt_of(token_id kind, size_t blocks) {
    token_list ids(blocks * block_tokens + 3);
    std::iota(ids.begin(), ids.end(), 1000 * kind);
    return ids;
  }
  std::span<std::byte> piece(uint32_t layer, uint32_t block) {
    return std::span{memory}.subspan(layout.piece_offset(layer, block), layout.piece_bytes());
  }
  static std::byte mark(const token_list& tokens, size_t ordinal, uint32_t layer) {
    return static_cast<std::byte>(tokens[0] / 1000 * 37 + ordinal * 5 + layer);
  }
  /// Computes, enters and lets go of a prompt's whole blocks.
  void run(const token_list& tokens, std::string_view scope = {}) {
    auto hit = cache.find(tokens, static_cast<uint32_t>(tokens.size()), scope);
    auto found = hit.blocks().size();
    if (auto missing = tokens.size() / block_tokens - found; missing > 0)
      block_pool::join(hit, *cache.acquire(static_cast<uint32_t>(missing)));
    for (auto i = found; i < hit.blocks().size(); ++i)
      for (uint32_t layer = 0; layer < layout.layers; ++layer)
        std::ranges::fill(piece(layer, hit.blocks()[i]), mark(tokens, i, layer));
    cache.insert(tokens, hit.blocks(), scope);
  }
  void push_out() { run(prompt_of(9, capacity)); }
  bool has_bytes_of(const token_list& tokens, const kv_lease& hit) {
    for (size_t i = 0; i < hit.blocks().size(); ++i)
      for (uint32_t layer = 0; layer < layout.layers; ++layer)
        for (auto b : piece(layer, hit.blocks()[i]))
          if (b != mark(tokens, i, layer))
            return false;
    return true;
  }
};

TEST_F(prefix_cache_host_test, what_was_pushed_out_comes_back_with_its_bytes) {
  auto prompt = prompt_of(1, 3);
  run(prompt);
  push_out();
  EXPECT_EQ(cache.counts().host_saved, 3U);
  EXPECT_EQ(cache.counts().host_bytes, 3 * block_bytes);
  auto hit = cache.find(prompt, static_cast<uint32_t>(prompt.size()));
  ASSERT_EQ(hit.blocks().size(), 3U);
  EXPECT_EQ(hit.from_host, 3U);
  EXPECT_TRUE(has_bytes_of(prompt, hit));
  EXPECT_EQ(cache.counts().host_loaded, 3U);
  auto again = cache.find(prompt, static_cast<uint32_t>(prompt.size()));
  EXPECT_EQ(again.blocks().size(), 3U);
  EXPECT_EQ(again.from_host, 0U); // It is an entry of the pool again.
}

TEST_F(prefix_cache_host_test, a_hit_may_begin_in_the_pool_and_end_in_host_memory) {
  auto prompt = prompt_of(1, 4);
  run(prompt);
  auto other = *cache.acquire(2); // Pushes the two last ones out.
  other = kv_lease{};
  auto hit = cache.find(prompt, static_cast<uint32_t>(prompt.size()));
  EXPECT_EQ(hit.blocks().size(), 4U);
  EXPECT_EQ(hit.from_host, 2U);
  EXPECT_TRUE(has_bytes_of(prompt, hit));
}

TEST_F(prefix_cache_host_test, a_hit_ends_mid_block_or_before_the_last_token) {
  auto prompt = prompt_of(1, 2);
  prompt.resize(2 * block_tokens);
  run(prompt);
  push_out();
  EXPECT_EQ(cache.find(prompt, block_tokens + 7).blocks().size(), 1U);
  EXPECT_EQ(cache.find(prompt, 2 * block_tokens - 1).from_host, 0U); // The first is back already.
  auto forked = prompt;
  forked[block_tokens + 2] = 7;
  EXPECT_EQ(cache.find(forked, 2 * block_tokens).blocks().size(), 1U);
  EXPECT_EQ(cache.find(prompt, 2 * block_tokens).from_host, 1U);
}

TEST_F(prefix_cache_host_test, a_hit_ends_where_no_block_can_be_had) {
  auto prompt = prompt_of(1, 3);
  run(prompt);
  push_out();
  auto held = *cache.acquire(2);
  auto hit = cache.find(prompt, static_cast<uint32_t>(prompt.size()));
  EXPECT_EQ(hit.blocks().size(), 2U);
  EXPECT_TRUE(has_bytes_of(prompt, hit));
  held = kv_lease{};
  hit = cache.find(prompt, static_cast<uint32_t>(prompt.size()));
  EXPECT_EQ(hit.blocks().size(), 3U); // The third had stayed where it was.
  EXPECT_EQ(hit.from_host, 1U);
}

TEST_F(prefix_cache_host_test, the_least_recently_used_leaf_goes_when_it_is_full) {
  for (token_id kind = 1; kind <= 4; ++kind)
    run(prompt_of(kind, 4)); // 16 blocks for 4 + 8.
  EXPECT_EQ(tier.count(), 8U);
  EXPECT_EQ(cache.counts().host_bytes, cache.counts().host_bytes_max);
  EXPECT_EQ(cache.counts().host_evicted, 4U);
  EXPECT_EQ(cache.count(), 12U);
  EXPECT_EQ(cache.find(prompt_of(1, 4), 64).blocks().size(), 0U);
  EXPECT_EQ(cache.find(prompt_of(2, 4), 64).from_host, 4U);
  EXPECT_EQ(tier.count(), 8U); // Four came back, four others took their places.
}

TEST_F(prefix_cache_host_test, one_block_of_host_memory_changes_places_with_one_of_the_pool) {
  host_tier small{block_copier{memory, layout}, block_bytes};
  std::vector<uint64_t> one(1);
  block_pool tiny{one};
  prefix_cache swapping{tiny, block_tokens, &small};
  for (token_id kind = 1; kind <= 2; ++kind) {
    auto held = *swapping.acquire(1);
    for (uint32_t layer = 0; layer < layout.layers; ++layer)
      std::ranges::fill(piece(layer, 0), mark(prompt_of(kind, 1), 0, layer));
    swapping.insert(prompt_of(kind, 1), held.blocks());
  }
  for (token_id kind : {1U, 2U, 1U, 2U}) {
    auto hit = swapping.find(prompt_of(kind, 1), block_tokens);
    EXPECT_EQ(hit.from_host, 1U);
    EXPECT_TRUE(has_bytes_of(prompt_of(kind, 1), hit));
    EXPECT_EQ(small.count(), 1U);
  }
}

TEST_F(prefix_cache_host_test, scopes_do_not_see_each_other_there) {
  run(prompt_of(1, 2), "a");
  push_out();
  EXPECT_EQ(cache.find(prompt_of(1, 2), 99).blocks().size(), 0U);
  EXPECT_EQ(cache.find(prompt_of(1, 2), 99, "b").blocks().size(), 0U);
  EXPECT_EQ(cache.find(prompt_of(1, 2), 99, "a").from_host, 2U);
}

TEST_F(prefix_cache_host_test, what_is_computed_again_leaves_host_memory) {
  auto prompt = prompt_of(1, 2);
  run(prompt);
  push_out();
  auto held = *cache.acquire(2);
  EXPECT_EQ(tier.count(), 4U);
  cache.insert(prompt, held.blocks());
  EXPECT_EQ(tier.count(), 2U); // Those that acquire() pushed out.
  EXPECT_EQ(cache.find(prompt, 99).from_host, 0U);
  EXPECT_EQ(cache.counts().host_loaded, 0U);
}

TEST_F(prefix_cache_host_test, clearing_forgets_both_and_keeps_what_is_held) {
  run(prompt_of(1, 3));
  push_out();
  auto hit = cache.find(prompt_of(1, 3), block_tokens);
  cache.clear();
  EXPECT_EQ(tier.count(), 0U);
  EXPECT_EQ(cache.count(), 1U);
  EXPECT_EQ(cache.find(prompt_of(1, 3), 99).blocks().size(), 1U);
  hit = prefix_hit{};
  cache.clear();
  EXPECT_EQ(pool.counts().free, capacity);
  EXPECT_EQ(cache.scope_count(), 0U);
}

TEST_F(prefix_cache_host_test, a_cache_that_ends_leaves_nothing_in_either) {
  {
    prefix_cache other{pool, block_tokens, &tier};
    auto held = *other.acquire(2);
    other.insert(prompt_of(1, 2), held.blocks());
    held = kv_lease{};
    held = *other.acquire(3);
    EXPECT_EQ(tier.count(), 1U);
  }
  EXPECT_EQ(tier.count(), 0U);
  EXPECT_EQ(pool.counts().free, capacity);
}

TEST_F(prefix_cache_host_test, says_whether_more_would_fit) {
  EXPECT_EQ(cache.room_for(8), host_room::free);
  EXPECT_EQ(cache.room_for(9), host_room::none);
  run(prompt_of(1, 3));
  push_out();
  EXPECT_EQ(cache.room_for(5), host_room::free);
  EXPECT_EQ(cache.room_for(6), host_room::taken);
  EXPECT_EQ(prefix_cache(pool, block_tokens).room_for(1), host_room::none);
  host_tier less{block_copier{memory, layout}, block_bytes - 1};
  EXPECT_EQ(prefix_cache(pool, block_tokens, &less).room_for(1), host_room::none);
}

TEST_F(prefix_cache_host_test, a_preempted_row_finds_all_but_its_last_part_block) {
  auto tokens = prompt_of(1, 2);
  auto row = *cache.acquire(3);
  for (uint32_t i = 0; i < 2; ++i)
    for (uint32_t layer = 0; layer < layout.layers; ++layer)
      std::ranges::fill(piece(layer, row.blocks()[i]), mark(tokens, i, layer));
  EXPECT_EQ(cache.room_for(2), host_room::free);
  cache.insert(tokens, row.blocks());
  row = *cache.acquire(1); // Preempted: what it held is free or idle.
  row = kv_lease{};
  {
    auto others = *cache.acquire(4);
    EXPECT_EQ(tier.count(), 2U);
    EXPECT_EQ(cache.find(tokens, 99).blocks().size(), 0U); // No block to come back into.
  }
  auto back = cache.find(tokens, static_cast<uint32_t>(tokens.size()));
  EXPECT_EQ(back.from_host, 2U);
  EXPECT_TRUE(has_bytes_of(tokens, back));
}

} // namespace
} // namespace penstock::gpu
