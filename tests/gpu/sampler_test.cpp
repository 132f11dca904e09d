#include "base/rng.hpp"
#include "gpu/sampler.hpp"
#include "tests/gpu/kernel_fixture.hpp"

#include <limits>

namespace penstock::gpu {
namespace {

generated_token draw(const kernel_table& table, std::span<const float> logits, sampling_point at) {
  sampling_scratch scratch{logits.size()};
  return *sample(table, logits, scratch, at);
}

TEST(sampler, greedy_takes_the_largest_and_the_lowest_of_equals) {
  const std::vector<float> logits{0.0F, 2.0F, -1.0F, 2.0F};
  for (const auto* table : runnable_tables()) {
    const auto token = draw(*table, logits, {});
    EXPECT_EQ(token.id, 1U);
    EXPECT_NEAR(token.logprob, 2.0 - std::log(1.0 + 2.0 * std::exp(2.0) + std::exp(-1.0)), 1e-6);
  }
}

TEST(sampler, every_path_draws_the_same_token_and_logprob) {
  const auto logits = random_values(4, 1003, 6.0F);
  for (uint32_t position = 0; position < 200; ++position) {
    const sampling_point at{{0.8F, 99, position % 3 * 50, position % 2 == 0 ? 1.0F : 0.9F,
                             position % 5 == 0 ? 0.02F : 0.0F},
                            position};
    const auto expected = draw(scalar_kernels(), logits, at);
    for (const auto* table : runnable_tables()) {
      const auto token = draw(*table, logits, at);
      EXPECT_EQ(token.id, expected.id);
      EXPECT_EQ(token.logprob, expected.logprob);
    }
  }
}

TEST(sampler, draws_by_position_and_seed_with_the_right_frequencies) {
  const std::vector<float> logits{std::log(0.5F), -200.0F, std::log(0.2F), std::log(0.3F)};
  std::vector<uint32_t> counts(4, 0);
  const uint32_t draws = 40000;
  for (uint32_t position = 0; position < draws; ++position)
    ++counts[draw(scalar_kernels(), logits, {{1.0F, 7}, position}).id];
  EXPECT_EQ(counts[1], 0U);
  EXPECT_NEAR(counts[0], 0.5 * draws, 0.015 * draws);
  EXPECT_NEAR(counts[2], 0.2 * draws, 0.015 * draws);
  EXPECT_NEAR(counts[3], 0.3 * draws, 0.015 * draws);
}

TEST(sampler, a_low_temperature_is_greedy_and_the_logprob_stays_at_temperature_one) {
  const auto logits = random_values(5, 300, 4.0F);
  const auto greedy = draw(scalar_kernels(), logits, {});
  const auto cold = draw(scalar_kernels(), logits, {{0.001F, 3}, 17});
  EXPECT_EQ(cold.id, greedy.id);
  EXPECT_EQ(cold.logprob, greedy.logprob);
}

// With all likelier ones barred, greedy takes the next by rank, and says its log-probability.
TEST(sampler, names_the_likeliest_by_rank_with_the_bits_they_have_when_drawn) {
  auto logits = random_values(6, 400, 5.0F);
  logits[17] = logits[300] = logits[5]; // Ties.
  logits[9] = logits[200] = 20.0F;
  for (const auto* table : runnable_tables())
    for (const float temperature : {0.0F, 0.7F}) {
      const auto named = draw(*table, logits, {{temperature, 3, 5, 0.9F, 0.0F, 1.0F, 20}, 11}).top;
      ASSERT_EQ(named.size(), 20U);
      std::vector<token_id> barred;
      for (const auto& other : named) {
        const auto next = draw(*table, logits, {{}, 11, {}, barred});
        EXPECT_EQ(other.id, next.id);
        EXPECT_EQ(other.logprob, next.logprob);
        barred.push_back(next.id);
      }
    }
}

TEST(sampler, names_what_the_model_thinks_whatever_may_be_drawn) {
  const std::vector<float> logits{1.0F, 3.0F, 2.0F};
  const std::vector<token_id> barred{1};
  const std::vector<token_id> seen{1, 2};
  draw_rules rules;
  rules.repetition_penalty = 8.0F;
  rules.top_logprobs = 20;
  const auto token = draw(scalar_kernels(), logits, {rules, 3, seen, barred});
  EXPECT_EQ(token.id, 0U);
  ASSERT_EQ(token.top.size(), 3U); // All there are.
  EXPECT_EQ(token.top[0].id, 1U);
  EXPECT_EQ(token.top[1].id, 2U);
  EXPECT_EQ(token.top[2].id, 0U);
  EXPECT_EQ(token.top[2].logprob, token.logprob);
  rules.top_logprobs = 0;
  EXPECT_TRUE(draw(scalar_kernels(), logits, {rules, 3, seen, barred}).top.empty());
}

TEST(sampler, naming_the_likeliest_does_not_change_what_is_drawn) {
  const auto logits = random_values(7, 500, 3.0F);
  for (uint32_t position = 0; position < 100; ++position) {
    draw_rules rules{1.0F, 21, 40, 0.95F, 0.01F};
    const auto plain = draw(scalar_kernels(), logits, {rules, position});
    rules.top_logprobs = 7;
    const auto named = draw(scalar_kernels(), logits, {rules, position});
    EXPECT_EQ(named.id, plain.id);
    EXPECT_EQ(named.logprob, plain.logprob);
  }
}

TEST(sampler, refuses_logits_that_are_not_finite) {
  std::vector<float> logits(40, 1.0F);
  sampling_scratch scratch{40};
  logits[23] = std::numeric_limits<float>::quiet_NaN();
  for (const auto* table : runnable_tables()) {
    const auto token = sample(*table, logits, scratch, {});
    ASSERT_FALSE(token);
    EXPECT_EQ(token.err().code, errc::device_failed);
    EXPECT_NE(token.err().detail.find("logit 23"), std::string::npos);
  }
}

} // namespace
} // namespace penstock::gpu
