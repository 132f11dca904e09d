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
