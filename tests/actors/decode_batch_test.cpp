#include "actors/decode_batch.hpp"
#include "base/rng.hpp"

#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

struct decode_batch_test : ::testing::Test {
  std::vector<uint64_t> generations = std::vector<uint64_t>(64, 0);
  gpu::block_pool pool{generations};
  gpu::prefix_cache cache{pool, 16};

  decode_row row(request_id request, std::vector<token_id> tokens, uint32_t tokens_max) {
    decode_row r;
    r.key = {{0, 1}, request, 1};
    r.prompt_tokens = static_cast<uint32_t>(tokens.size());
    r.tokens = std::move(tokens);
    r.sampling.tokens_max = tokens_max;
    r.end_ids = {2};
    r.lease = std::move(*pool.acquire(2));
    r.deadline = 100;
    return r;
  }

  static gpu::step_output answer(const gpu::step& s, token_id id) {
    gpu::step_output out;
    out.number = s.number;
    for (const auto& r : s.rows)
      out.sampled.push_back({r.slot, {id, -1.0F}});
    return out;
  }
};

TEST_F(decode_batch_test, feeds_the_last_prompt_token_first_then_the_slots_own) {
  decode_batch batch{4, 100, cache};
  batch.add(row(1, {7, 8, 9}, 5));
  auto first = batch.plan(1);
  ASSERT_EQ(first.rows.size(), 1u);
  EXPECT_EQ(first.rows[0].tokens, (std::vector<token_id>{9}));
  EXPECT_EQ(first.rows[0].position, 2u);
  auto second = batch.plan(2); // Before the first is answered.
  ASSERT_EQ(second.rows.size(), 1u);
  EXPECT_TRUE(second.rows[0].tokens.empty());
  EXPECT_EQ(second.rows[0].position, 3u);
}

TEST_F(decode_batch_test, one_token_asked_is_one_token_given) {
  decode_batch batch{4, 100, cache};
  batch.add(row(1, {7}, 1));
  auto step = batch.plan(1);
  EXPECT_TRUE(batch.plan(2).rows.empty());
  auto done = batch.apply(answer(step, 5));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].finished);
  EXPECT_EQ(done[0].reason, finish_reason::length);
  EXPECT_EQ(done[0].generated.size(), 1u);
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(pool.counts().free, 64u);
}

TEST_F(decode_batch_test, an_end_token_is_not_given_and_the_extra_step_is_discarded) {
  decode_batch batch{4, 100, cache};
  batch.add(row(1, {7}, 9));
  auto first = batch.plan(1);
  auto second = batch.plan(2);
  auto done = batch.apply(answer(first, 2));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_TRUE(done[0].finished);
  EXPECT_EQ(done[0].reason, finish_reason::stop);
  EXPECT_TRUE(done[0].generated.empty());
  EXPECT_NE(pool.counts().free, 64u); // A step still writes there.
  EXPECT_TRUE(batch.apply(answer(second, 5)).empty());
  EXPECT_EQ(batch.discarded_count(), 1u);
  EXPECT_EQ(pool.counts().free, 64u);
}

TEST_F(decode_batch_test, ignore_end_goes_on) {
  decode_batch batch{4, 100, cache};
  auto r = row(1, {7}, 2);
  r.sampling.ignore_end = true;
  batch.add(std::move(r));
  auto done = batch.apply(answer(batch.plan(1), 2));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_FALSE(done[0].finished);
  EXPECT_EQ(done[0].generated.size(), 1u);
}

TEST_F(decode_batch_test, a_stop_id_ends_a_row_also_if_ends_are_ignored) {
  decode_batch batch{4, 100, cache};
  auto r = row(1, {7}, 9);
  r.sampling.ignore_end = true;
  r.sampling.stop_ids = {40};
  batch.add(std::move(r));
  EXPECT_FALSE(batch.apply(answer(batch.plan(1), 2))[0].finished);
  auto done = batch.apply(answer(batch.plan(2), 40));
  EXPECT_TRUE(done[0].finished);
  EXPECT_EQ(done[0].reason, finish_reason::stop);
  EXPECT_TRUE(done[0].generated.empty());
}

TEST_F(decode_batch_test, ends_are_barred_until_tokens_min_counted_over_attempts) {
  decode_batch batch{4, 100, cache};
  auto r = row(1, {7, 8, 40, 41}, 9); // Two of them generated before.
  r.prompt_tokens = 2;
  r.sampling.tokens_min = 4;
  r.sampling.stop_ids = {30};
  batch.add(std::move(r));
  const std::vector<token_id> ends{30, 2};
  EXPECT_EQ(batch.plan(1).rows[0].barred, ends);
  EXPECT_EQ(batch.plan(2).rows[0].barred, ends);
  EXPECT_TRUE(batch.plan(3).rows[0].barred.empty());
}

TEST_F(decode_batch_test, a_penalised_row_brings_its_whole_sequence_once) {
  decode_batch batch{4, 100, cache};
  auto r = row(1, {7, 8, 40, 41}, 9);
  r.prompt_tokens = 2;
  r.sampling.repetition_penalty = 1.1F;
  batch.add(std::move(r));
  batch.add(row(2, {7, 8}, 9));
  auto first = batch.plan(1);
  EXPECT_EQ(first.rows[0].seen, (std::vector<token_id>{7, 8, 40, 41}));
  EXPECT_TRUE(first.rows[1].seen.empty());
  EXPECT_TRUE(batch.plan(2).rows[0].seen.empty());
}

TEST_F(decode_batch_test, the_context_ends_a_row) {
  decode_batch batch{4, 4, cache};
  batch.add(row(1, {7, 8}, 50));
  auto first = batch.apply(answer(batch.plan(1), 5));
  EXPECT_FALSE(first[0].finished);
  auto second = batch.apply(answer(batch.plan(2), 5));
  EXPECT_TRUE(second[0].finished);
  EXPECT_EQ(second[0].reason, finish_reason::length);
}

TEST_F(decode_batch_test, a_resumed_row_counts_on_from_what_was_generated) {
  decode_batch batch{4, 100, cache};
  auto r = row(1, {7, 8, 40, 41}, 3);
  r.prompt_tokens = 2;
  batch.add(std::move(r));
  auto done = batch.apply(answer(batch.plan(1), 42));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].first_index, 2u);
  EXPECT_TRUE(done[0].finished); // Third of three.
}

TEST_F(decode_batch_test, a_dropped_row_keeps_its_slot_until_its_steps_are_done) {
  decode_batch batch{1, 100, cache};
  batch.add(row(1, {7}, 9));
  auto step = batch.plan(1);
  batch.drop({{0, 1}, 1, 1});
  EXPECT_FALSE(batch.has_slot());
  EXPECT_EQ(batch.running_count(), 0u);
  EXPECT_TRUE(batch.apply(answer(step, 5)).empty());
  EXPECT_TRUE(batch.has_slot());
  EXPECT_EQ(pool.counts().free, 64u);
}

TEST_F(decode_batch_test, a_finished_row_leaves_its_whole_blocks_to_the_cache) {
  decode_batch batch{1, 100, cache};
  batch.add(row(1, std::vector<token_id>(14, 7), 3));
  for (uint64_t n = 1; n <= 3; ++n)
    (void)batch.apply(answer(batch.plan(n), 5));
  EXPECT_TRUE(batch.empty());
  auto sequence = std::vector<token_id>(14, 7);
  sequence.insert(sequence.end(), {5, 5}); // The third was never fed.
  EXPECT_EQ(cache.find(sequence, 16).blocks().size(), 1u);
}

TEST_F(decode_batch_test, an_answer_that_may_be_cut_is_not_cached) {
  decode_batch batch{1, 100, cache};
  auto cut = row(1, std::vector<token_id>(18, 7), 30);
  cut.cache_tokens_max = 18;
  cut.lease = std::move(*pool.acquire(3));
  batch.add(std::move(cut));
  for (uint64_t n = 1; n <= 30; ++n)
    (void)batch.apply(answer(batch.plan(n), 5));
  EXPECT_TRUE(batch.empty());
  auto sequence = std::vector<token_id>(18, 7);
  sequence.resize(48, 5);
  EXPECT_EQ(cache.find(sequence, 48).blocks().size(), 1u); // Of the prompt.
}

TEST_F(decode_batch_test, no_row_is_lost_whatever_comes) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    rng draw{seed};
    decode_batch batch{4, 40, cache};
    std::map<request_id, uint32_t> got;
    std::map<request_id, bool> ended;
    std::vector<gpu::step> out;
    request_id next = 1;
    for (int turn = 0; turn < 200; ++turn) {
      auto what = draw.below(4);
      if (what == 0 && batch.has_slot() && turn < 150)
        batch.add(row(next++, std::vector<token_id>(1 + draw.below(20), 7),
                      static_cast<uint32_t>(1 + draw.below(10))));
      else if (what == 1 && next > 1)
        batch.drop({{0, 1}, 1 + draw.below(next - 1), 1});
      else if (what == 2 && out.size() < 2) {
        if (auto s = batch.plan(static_cast<uint64_t>(turn)); !s.rows.empty())
          out.push_back(std::move(s));
      } else if (!out.empty()) {
        for (const auto& p : batch.apply(answer(out[0], draw.below(8) == 0 ? 2 : 5))) {
          EXPECT_EQ(p.first_index, got[p.key.request]);
          EXPECT_FALSE(ended[p.key.request]);
          got[p.key.request] += static_cast<uint32_t>(p.generated.size());
          ended[p.key.request] = p.finished;
        }
        out.erase(out.begin());
      }
    }
    for (request_id r = 1; r < next; ++r)
      batch.drop({{0, 1}, r, 1});
    for (const auto& s : out)
      (void)batch.apply(answer(s, 5));
    EXPECT_TRUE(batch.empty()) << "seed " << seed;
    cache.clear();
    EXPECT_EQ(pool.counts().free, 64u) << "seed " << seed;
  }
}

} // namespace
} // namespace penstock::actors
