#include "actors/prefill_queue.hpp"
#include "base/rng.hpp"

#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

struct prefill_queue_test : ::testing::Test {
  std::vector<uint64_t> generations = std::vector<uint64_t>(8, 0);
  gpu::block_pool pool{generations};
  gpu::prefix_cache cache{pool, 16};

  static work_key key(request_id request) { return {{0, 1}, request, 1}; }
  static prefill_work work(request_id request, size_t tokens, uint32_t skip = 0) {
    return {key(request), {2, 5}, std::vector<token_id>(tokens, static_cast<token_id>(request)),
            skip,         100,    0};
  }
  static gpu::step_output answer(uint64_t number) {
    gpu::step_output out;
    out.number = number;
    return out;
  }
};

TEST_F(prefill_queue_test, cuts_a_prompt_into_chunks_and_publishes_full_blocks) {
  prefill_queue queue{{2, 24, 8, 16}, pool, cache};
  ASSERT_TRUE(queue.add(work(1, 40)));
  auto first = queue.plan(1, 10);
  ASSERT_EQ(first.step.rows.size(), 1u);
  EXPECT_EQ(first.step.rows[0].tokens.size(), 24u);
  EXPECT_EQ(first.step.rows[0].blocks.size(), 2u);
  EXPECT_FALSE(first.step.rows[0].sample);
  ASSERT_EQ(first.starts.size(), 1u);
  EXPECT_EQ(first.starts[0].tokens, 40u);
  auto second = queue.plan(2, 11);
  EXPECT_EQ(second.step.rows[0].position, 24u);
  EXPECT_TRUE(second.starts.empty());
  auto out = queue.apply(answer(1), 20);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].blocks.size(), 1u); // Block 1 is half full and will be written again.
  EXPECT_FALSE(out[0].last);
  out = queue.apply(answer(2), 30);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].first_index, 1u);
  EXPECT_EQ(out[0].blocks.size(), 2u);
  EXPECT_TRUE(out[0].last);
  auto report = queue.report_on(key(1));
  EXPECT_EQ(report->compute_us, 20u);
  EXPECT_EQ(report->queue_us, 10u);
}

TEST_F(prefill_queue_test, several_prompts_share_a_step) {
  prefill_queue queue{{4, 64, 8, 16}, pool, cache};
  (void)queue.add(work(1, 10));
  (void)queue.add(work(2, 20));
  EXPECT_EQ(queue.plan(1, 0).step.rows.size(), 2u);
  auto out = queue.apply(answer(1), 1);
  EXPECT_EQ(out.size(), 2u);
  EXPECT_TRUE(out[0].last && out[1].last);
}

TEST_F(prefill_queue_test, publishes_only_what_decode_lacks) {
  prefill_queue queue{{2, 64, 8, 16}, pool, cache};
  (void)queue.add(work(1, 40, 32));
  EXPECT_EQ(queue.plan(1, 0).starts[0].skip, 32u);
  auto out = queue.apply(answer(1), 1);
  EXPECT_EQ(out[0].first_index, 2u);
  EXPECT_EQ(out[0].blocks.size(), 1u);
}

TEST_F(prefill_queue_test, a_prompt_without_blocks_waits_and_is_not_overtaken) {
  prefill_queue queue{{4, 256, 8, 16}, pool, cache};
  (void)queue.add(work(1, 100)); // 7 of 8 blocks.
  (void)queue.add(work(2, 40));
  (void)queue.add(work(3, 4));
  EXPECT_EQ(queue.plan(1, 0).step.rows.size(), 1u);
  (void)queue.apply(answer(1), 1);
  EXPECT_TRUE(queue.plan(2, 1).step.rows.empty()); // 1 still holds its blocks for the reader.
  queue.drop(key(1));
  EXPECT_EQ(queue.plan(3, 2).step.rows.size(), 2u);
}

TEST_F(prefill_queue_test, blocks_outlive_a_drop_while_a_step_writes_them) {
  prefill_queue queue{{4, 256, 8, 16}, pool, cache};
  (void)queue.add(work(1, 30));
  (void)queue.plan(1, 0);
  queue.drop(key(1));
  EXPECT_EQ(pool.counts().leased, 2u);
  EXPECT_TRUE(queue.apply(answer(1), 1).empty());
  EXPECT_EQ(pool.counts().free, 8u);
}

TEST_F(prefill_queue_test, refuses_at_its_bounds) {
  prefill_queue queue{{1, 16, 1, 16}, pool, cache};
  EXPECT_EQ(queue.add(work(1, 0)).err().code, errc::invalid_argument);
  EXPECT_EQ(queue.add(work(1, 5, 5)).err().code, errc::invalid_argument);
  EXPECT_EQ(queue.add(work(1, 8 * 16 + 1)).err().code, errc::out_of_blocks);
  ASSERT_TRUE(queue.add(work(1, 10)));
  EXPECT_EQ(queue.add(work(2, 10)).err().code, errc::overloaded);
}

TEST_F(prefill_queue_test, a_prompt_that_begins_like_an_earlier_one_is_computed_from_there) {
  prefill_queue queue{{2, 64, 8, 16}, pool, cache};
  (void)queue.add(work(1, 40));
  (void)queue.plan(1, 0);
  (void)queue.apply(answer(1), 1);
  queue.drop(key(1));
  EXPECT_EQ(pool.counts().cached, 2u);
  auto longer = work(2, 50);
  std::fill(longer.tokens.begin(), longer.tokens.begin() + 40, token_id{1});
  (void)queue.add(std::move(longer));
  auto next = queue.plan(2, 2);
  ASSERT_EQ(next.step.rows.size(), 1u);
  EXPECT_EQ(next.step.rows[0].position, 32u);
  EXPECT_EQ(next.step.rows[0].tokens.size(), 18u);
  auto out = queue.apply(answer(2), 3);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].blocks.size(), 4u); // Found ones are published too.
  auto report = queue.report_on(key(2));
  EXPECT_EQ(report->computed_tokens, 18u);
  EXPECT_EQ(report->cached_tokens, 32u);
}

TEST_F(prefill_queue_test, a_prompt_is_found_by_those_of_its_scope_only) {
  prefill_queue queue{{4, 64, 8, 16}, pool, cache};
  auto report = [&](request_id request, const char* scope, uint64_t step) {
    auto w = work(request, 40);
    w.tokens.assign(40, 7);
    w.cache_scope = scope;
    EXPECT_TRUE(queue.add(w));
    (void)queue.plan(step, 0);
    (void)queue.apply(answer(step), 1);
    auto found = queue.report_on(key(request))->cached_tokens;
    queue.drop(key(request));
    return found;
  };
  EXPECT_EQ(report(1, "t1:a", 1), 0u);
  EXPECT_EQ(report(2, "t1:b", 2), 0u);
  EXPECT_EQ(report(3, "t1:a", 3), 32u);
  EXPECT_EQ(report(4, "", 4), 0u);
}

TEST_F(prefill_queue_test, what_decode_has_too_counts_once) {
  prefill_queue queue{{2, 64, 8, 16}, pool, cache};
  (void)queue.add(work(1, 48));
  (void)queue.plan(1, 0);
  (void)queue.apply(answer(1), 1);
  queue.drop(key(1));
  auto again = work(2, 50, 16);
  std::fill(again.tokens.begin(), again.tokens.begin() + 48, token_id{1});
  (void)queue.add(std::move(again));
  (void)queue.plan(2, 2);
  auto out = queue.apply(answer(2), 3);
  EXPECT_EQ(out[0].first_index, 1u);
  EXPECT_EQ(queue.report_on(key(2))->cached_tokens, 32u); // 48 found, 16 of them decode's.
}

TEST_F(prefill_queue_test, every_token_is_computed_once_and_all_blocks_come_back) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    rng draw{seed};
    prefill_queue queue{{2, 32, 16, 16}, pool, cache};
    std::vector<uint64_t> out;
    std::map<work_key, uint32_t> fed;
    request_id next = 1;
    uint64_t number = 1;
    for (int turn = 0; turn < 200; ++turn) {
      auto what = draw.below(4);
      if (what == 0) {
        (void)queue.add(work(next, 1 + draw.below(100)));
        ++next;
      } else if (what == 1 && out.size() < 2) {
        auto plan = queue.plan(number, 0);
        uint32_t tokens = 0;
        for (const auto& r : plan.step.rows)
          tokens += r.count();
        ASSERT_LE(tokens, 32u);
        if (!plan.step.rows.empty())
          out.push_back(number++);
      } else if (what == 2 && !out.empty()) {
        for (const auto& p : queue.apply(answer(out[0]), 1))
          EXPECT_EQ(
            p.first_index,
            std::exchange(fed[p.key], p.first_index + static_cast<uint32_t>(p.blocks.size())));
        out.erase(out.begin());
      } else if (next > 1) {
        queue.drop(key(1 + draw.below(next)));
      }
    }
    for (request_id r = 1; r < next; ++r)
      queue.drop(key(r));
    for (auto n : out)
      (void)queue.apply(answer(n), 1);
    cache.clear();
    EXPECT_EQ(pool.counts().free, 8u) << "seed " << seed;
    EXPECT_EQ(queue.queued_tokens(), 0u) << "seed " << seed;
  }
}

} // namespace
} // namespace penstock::actors
