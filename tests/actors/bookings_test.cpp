#include "actors/bookings.hpp"
#include "base/rng.hpp"

#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

struct bookings_test : ::testing::Test {
  std::vector<uint64_t> generations = std::vector<uint64_t>(8, 0);
  gpu::block_pool pool{generations};
  gpu::prefix_cache cache{pool, 16};

  static work_key key(request_id request) { return {{0, 1}, request, 1}; }
  static std::vector<work_key> admit(bookings& desk) {
    std::vector<work_key> keys;
    for (const auto& a : desk.admit())
      keys.push_back(a.key);
    return keys;
  }
  static booking want(request_id request, size_t prompt, uint32_t tokens_max) {
    booking b;
    b.key = key(request);
    b.prefill = {1, 7};
    b.tokens.assign(prompt, static_cast<token_id>(request)); // No common prefixes.
    b.prompt_tokens = static_cast<uint32_t>(prompt);
    b.sampling.tokens_max = tokens_max;
    b.deadline = 100;
    return b;
  }
};

TEST_F(bookings_test, walks_from_booking_to_running) {
  bookings desk{{2, 8, 1000, 16}, pool, cache};
  ASSERT_TRUE(desk.add(want(1, 20, 12)));
  EXPECT_EQ(admit(desk), std::vector<work_key>{key(1)});
  EXPECT_EQ(desk.reserved_blocks(), 2u);
  EXPECT_EQ(pool.counts().free, 8u); // Counted, not taken.
  desk.begin(key(1));
  auto grants = desk.take_blocks();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].blocks.size(), 2u);
  EXPECT_FALSE(desk.next_ready().has_value());
  EXPECT_TRUE(desk.landed(key(1)));
  auto row = desk.next_ready();
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->lease.blocks().size(), 2u);
  desk.finished(key(1));
  EXPECT_EQ(desk.reserved_blocks(), 0u);
}

TEST_F(bookings_test, a_sequence_of_one_token_needs_no_transfer) {
  bookings desk{{2, 8, 1000, 16}, pool, cache};
  (void)desk.add(want(1, 1, 3));
  (void)desk.admit();
  desk.begin_without_transfer(key(1));
  auto grants = desk.take_blocks();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_FALSE(grants[0].transfer);
  EXPECT_TRUE(desk.next_ready().has_value());
}

TEST_F(bookings_test, those_without_room_wait_in_order) {
  bookings desk{{8, 8, 1000, 16}, pool, cache};
  (void)desk.add(want(1, 90, 20)); // 7 blocks of 8.
  (void)desk.add(want(2, 30, 2));  // 2 blocks.
  (void)desk.add(want(3, 10, 2));  // 1 block, would fit.
  EXPECT_EQ(admit(desk), std::vector<work_key>{key(1)});
  EXPECT_EQ(desk.drop(key(1)), bookings::drop_result::gone);
  EXPECT_EQ(admit(desk), (std::vector<work_key>{key(2), key(3)}));
}

TEST_F(bookings_test, refuses_what_can_never_fit) {
  bookings desk{{2, 1, 64, 16}, pool, cache};
  EXPECT_EQ(desk.add(want(1, 64, 1)).err().code, errc::prompt_too_long);
  EXPECT_EQ(desk.add(want(1, 0, 1)).err().code, errc::invalid_argument);
  ASSERT_TRUE(desk.add(want(1, 10, 1)));
  EXPECT_EQ(desk.add(want(2, 10, 1)).err().code, errc::overloaded);
}

TEST_F(bookings_test, blocks_under_a_read_are_quarantined_until_quiet) {
  bookings desk{{2, 8, 1000, 16}, pool, cache};
  (void)desk.add(want(1, 20, 12));
  (void)desk.admit();
  desk.begin(key(1));
  (void)desk.take_blocks();
  EXPECT_EQ(desk.drop(key(1)), bookings::drop_result::leaving);
  EXPECT_EQ(pool.counts().quarantined, 2u);
  EXPECT_FALSE(desk.landed(key(1)));
  desk.quiet(key(1));
  EXPECT_EQ(pool.counts().free, 8u);
  EXPECT_EQ(desk.count(), 0u);
}

TEST_F(bookings_test, accounts_stay_true_whatever_comes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    rng draw{seed};
    bookings desk{{3, 4, 1000, 16}, pool, cache};
    std::map<work_key, decode_row> running;
    request_id next = 1;
    auto any = [&] { return key(1 + draw.below(next)); };
    for (int turn = 0; turn < 300; ++turn) {
      switch (draw.below(8)) {
      case 0:
        (void)desk.add(want(next++, 1 + draw.below(60), 1 + draw.below(40)));
        break;
      case 1:
        (void)desk.admit();
        break;
      case 2:
        desk.begin(any());
        break;
      case 3:
        (void)desk.take_blocks();
        break;
      case 4:
        (void)desk.landed(any());
        break;
      case 5:
        if (auto row = desk.next_ready())
          running.emplace(row->key, std::move(*row));
        break;
      case 6:
        desk.quiet(any());
        break;
      default:
        auto k = any();
        if (desk.drop(k) == bookings::drop_result::running) {
          running.erase(k);
          desk.finished(k);
        }
      }
      auto c = pool.counts();
      ASSERT_EQ(c.free + c.leased + c.cached + c.quarantined, c.capacity) << "seed " << seed;
      ASSERT_LE(desk.reserved_blocks(), c.capacity) << "seed " << seed;
    }
    for (request_id r = 1; r < next; ++r) {
      if (desk.drop(key(r)) == bookings::drop_result::running)
        desk.finished(key(r));
      desk.quiet(key(r));
    }
    running.clear();
    EXPECT_EQ(desk.count(), 0u) << "seed " << seed;
    EXPECT_EQ(desk.reserved_blocks(), 0u) << "seed " << seed;
    cache.clear();
    EXPECT_EQ(pool.counts().free, 8u) << "seed " << seed;
  }
}

TEST_F(bookings_test, a_cached_prefix_is_held_and_only_the_rest_is_received) {
  bookings desk{{2, 8, 1000, 16}, pool, cache};
  {
    auto earlier = *cache.acquire(2);
    cache.insert(std::vector<token_id>(32, 1), earlier.blocks());
  }
  (void)desk.add(want(1, 50, 10));
  auto booked = desk.admit();
  ASSERT_EQ(booked.size(), 1u);
  EXPECT_EQ(booked[0].cached_tokens, 32u);
  EXPECT_TRUE(booked[0].needs_transfer);
  desk.begin(key(1));
  auto grants = desk.take_blocks();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].first_index, 2u);
  EXPECT_EQ(grants[0].blocks.size(), 2u); // KV of 49 tokens is 4 blocks.
  EXPECT_TRUE(desk.landed(key(1)));
  EXPECT_EQ(desk.next_ready()->lease.blocks().size(), 4u);
}

TEST_F(bookings_test, a_full_hit_needs_no_transfer) {
  bookings desk{{2, 8, 1000, 16}, pool, cache};
  {
    auto earlier = *cache.acquire(2);
    cache.insert(std::vector<token_id>(32, 1), earlier.blocks());
  }
  (void)desk.add(want(1, 33, 10));
  EXPECT_FALSE(desk.admit()[0].needs_transfer);
  desk.begin_without_transfer(key(1));
  EXPECT_FALSE(desk.take_blocks()[0].transfer);
  EXPECT_EQ(desk.next_ready()->lease.blocks().size(), 3u);
}

TEST_F(bookings_test, only_a_prefix_of_its_own_scope_is_held) {
  bookings desk{{4, 8, 1000, 16}, pool, cache};
  {
    auto earlier = *cache.acquire(2);
    cache.insert(std::vector<token_id>(32, 1), earlier.blocks(), "s1:a");
  }
  auto same = want(1, 40, 2);
  same.cache_scope = "s1:a";
  auto other = want(2, 40, 2);
  other.tokens = same.tokens;
  other.cache_scope = "s1:b";
  (void)desk.add(same);
  (void)desk.add(other);
  auto booked = desk.admit();
  ASSERT_EQ(booked.size(), 2u);
  EXPECT_EQ(booked[0].cached_tokens, 32u);
  EXPECT_EQ(booked[1].cached_tokens, 0u);
  desk.begin(key(2));
  (void)desk.take_blocks();
  EXPECT_TRUE(desk.landed(key(2))); // Entered under its own scope, for the next of it.
  EXPECT_EQ(cache.find(other.tokens, 40, "s1:b").blocks().size(), 2u);
  EXPECT_EQ(cache.find(other.tokens, 40).blocks().size(), 0u);
  EXPECT_EQ(desk.next_ready()->cache_scope, "s1:b");
}

TEST_F(bookings_test, the_cached_prefix_of_a_dropped_booking_is_not_quarantined) {
  bookings desk{{2, 8, 1000, 16}, pool, cache};
  {
    auto earlier = *cache.acquire(2);
    cache.insert(std::vector<token_id>(32, 1), earlier.blocks());
  }
  (void)desk.add(want(1, 50, 10));
  (void)desk.admit();
  desk.begin(key(1));
  (void)desk.take_blocks();
  EXPECT_EQ(desk.drop(key(1)), bookings::drop_result::leaving);
  EXPECT_EQ(pool.counts().quarantined, 2u);
  EXPECT_EQ(pool.counts().cached, 2u);
  desk.quiet(key(1));
}

} // namespace
} // namespace penstock::actors
