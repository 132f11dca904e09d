// What the sampler draws, against each parameter's definition: a reference in plain double
// arithmetic, and Pearson's chi-square over 20,000 draws with fixed seeds.
#include "gpu/sampler.hpp"
#include "tests/gpu/kernel_fixture.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace penstock::gpu {
namespace {

constexpr uint32_t draws = 20'000;

const std::vector<float> logits{0.3F, 2.1F, -1.0F, 1.4F, 0.3F, 1.9F, -0.2F, 0.9F, -3.0F, 1.1F};

/// docs/numerics.md, read plainly. @returns A probability per id.
std::vector<double> reference(const draw_rules& rules) {
  std::vector<double> weights;
  const double top = *std::max_element(logits.begin(), logits.end());
  for (const float x : logits)
    weights.push_back(std::exp((x - top) / rules.temperature));
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [](size_t a, size_t b) { return logits[a] > logits[b]; });
  auto kept = rules.top_k == 0 ? order.size() : std::min<size_t>(rules.top_k, order.size());
  double all = 0.0;
  for (size_t i = 0; i < kept; ++i)
    all += weights[order[i]];
  double sum = 0.0;
  for (size_t i = 0; i < kept && rules.top_p < 1.0F; ++i) {
    sum += weights[order[i]];
    if (sum >= static_cast<double>(rules.top_p) * all)
      kept = i + 1;
  }
  while (kept > 0 && weights[order[kept - 1]] < static_cast<double>(rules.min_p))
    --kept;
  std::vector<double> out(logits.size(), 0.0);
  double total = 0.0;
  for (size_t i = 0; i < kept; ++i)
    total += weights[order[i]];
  for (size_t i = 0; i < kept; ++i)
    out[order[i]] = weights[order[i]] / total;
  return out;
}

std::vector<uint32_t> drawn(std::span<const float> from, const draw_rules& rules) {
  std::vector<uint32_t> counts(from.size(), 0);
  sampling_scratch scratch{from.size()};
  for (uint32_t position = 0; position < draws; ++position)
    ++counts[sample(scalar_kernels(), from, scratch, {rules, position})->id];
  return counts;
}

/// @returns The value that a true hypothesis exceeds once in a thousand (Wilson and Hilferty).
double chi_square_limit(double freedom) {
  const double part = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1.0 - part + 3.09 * std::sqrt(part), 3.0);
}

/// @returns True if `counts` could be draws from `expected`.
bool fits(const std::vector<uint32_t>& counts, const std::vector<double>& expected) {
  double statistic = 0.0;
  double freedom = -1.0;
  for (size_t id = 0; id < counts.size(); ++id) {
    if (expected[id] == 0.0) {
      if (counts[id] != 0)
        return false;
      continue;
    }
    const double want = expected[id] * draws;
    statistic += (counts[id] - want) * (counts[id] - want) / want;
    freedom += 1.0;
  }
  return freedom == 0.0 || statistic < chi_square_limit(freedom);
}

TEST(sampler_distribution, is_the_reference_for_each_parameter) {
  for (const auto& rules : std::vector<draw_rules>{
         {0.5F, 1},
         {1.0F, 2},
         {2.5F, 3},
         {1.0F, 4, 1},
         {1.0F, 5, 3},
         {1.0F, 6, 9},
         {1.0F, 7, 10},
         {1.0F, 8, 0, 0.01F},
         {1.0F, 9, 0, 0.6F},
         {1.0F, 10, 0, 0.95F},
         {1.0F, 11, 0, 1.0F, 0.1F},
         {1.0F, 12, 0, 1.0F, 0.5F},
         {1.0F, 13, 0, 1.0F, 1.0F},
         {1.7F, 14, 6, 0.8F, 0.3F},
         {0.8F, 15, 40, 0.9F, 0.05F},
       })
    EXPECT_TRUE(fits(drawn(logits, rules), reference(rules))) << "seed " << rules.seed;
}

TEST(sampler_distribution, the_comparison_can_fail) {
  const auto counts = drawn(logits, {1.0F, 2});
  EXPECT_FALSE(fits(counts, reference({1.1F, 2})));
  EXPECT_FALSE(fits(counts, reference({1.0F, 2, 9})));
  EXPECT_FALSE(fits(drawn(logits, {1.0F, 2, 4}), reference({1.0F, 2, 5})));
}

TEST(sampler_distribution, of_equal_logits_the_lowest_ids_stay) {
  const std::vector<float> equal(200, 0.5F);
  const auto ids = [&equal](const draw_rules& rules) {
    const auto counts = drawn(equal, rules);
    std::vector<size_t> seen;
    for (size_t id = 0; id < counts.size(); ++id)
      if (counts[id] > 0)
        seen.push_back(id);
    return seen;
  };
  EXPECT_EQ(ids({1.0F, 1, 3}), (std::vector<size_t>{0, 1, 2}));
  EXPECT_EQ(ids({1.0F, 1, 0, 0.01F}), (std::vector<size_t>{0, 1})); // Exactly 2 of 200.
  EXPECT_EQ(ids({1.0F, 1, 0, 0.5F}).back(), 99U);                   // Past the first sorted batch.
  EXPECT_EQ(ids({1.0F, 1, 4, 0.5F}), (std::vector<size_t>{0, 1}));  // Of what top_k left.
  EXPECT_EQ(ids({1.0F, 1, 0, 1.0F, 1.0F}).size(), 200U);
}

TEST(sampler_distribution, a_thousand_tokens_keep_as_many_as_sorting_all_of_them_would) {
  const auto many = random_values(3, 1000, 2.0F);
  std::vector<token_id> order(many.size());
  std::iota(order.begin(), order.end(), token_id{0});
  std::stable_sort(order.begin(), order.end(),
                   [&many](token_id a, token_id b) { return many[a] > many[b]; });
  const auto counts = drawn(many, {1.0F, 5, 100});
  for (size_t i = 100; i < order.size(); ++i)
    EXPECT_EQ(counts[order[i]], 0U);
  EXPECT_GT(std::count_if(counts.begin(), counts.end(), [](uint32_t c) { return c > 0; }), 95);
}

TEST(sampler_distribution, a_repetition_penalty_divides_or_multiplies_what_was_seen) {
  auto changed = logits;
  changed[1] /= 1.5F;
  changed[2] *= 1.5F;
  const std::vector<token_id> seen{1, 2, 4'000'000};
  sampling_scratch scratch{logits.size()};
  const draw_rules plain{1.0F, 21, 8, 0.95F};
  draw_rules penalised = plain;
  penalised.repetition_penalty = 1.5F;
  for (uint32_t position = 0; position < 2000; ++position) {
    const auto got = *sample(scalar_kernels(), logits, scratch, {penalised, position, seen});
    const auto want = *sample(scalar_kernels(), changed, scratch, {plain, position});
    ASSERT_EQ(got.id, want.id);
    ASSERT_EQ(got.logprob, // The model's own.
              sample(scalar_kernels(), logits, scratch, {{}, position})->logprob
                + (logits[got.id] - logits[1]));
  }
  penalised.temperature = 0.0F;
  EXPECT_EQ(sample(scalar_kernels(), logits, scratch, {penalised, 0, seen})->id, 5U);
}

TEST(sampler_distribution, what_is_barred_is_never_drawn_and_the_rest_as_if_it_were_not_there) {
  const std::vector<token_id> barred{1, 5, 4'000'000};
  sampling_scratch scratch{logits.size()};
  std::vector<uint32_t> counts(logits.size(), 0);
  for (uint32_t position = 0; position < draws; ++position)
    ++counts[sample(scalar_kernels(), logits, scratch, {{1.0F, 31}, position, {}, barred})->id];
  auto expected = reference({1.0F, 31});
  const double rest = 1.0 - expected[1] - expected[5];
  for (double& p : expected)
    p /= rest;
  expected[1] = expected[5] = 0.0;
  EXPECT_TRUE(fits(counts, expected));
  EXPECT_EQ(sample(scalar_kernels(), logits, scratch, {{}, 0, {}, barred})->id, 3U);
}

TEST(sampler_distribution, extreme_logits_and_penalties_still_give_a_token) {
  constexpr float largest = std::numeric_limits<float>::max();
  const std::vector<float> extreme{largest, -largest, 1.0F};
  const std::vector<token_id> all{0, 1, 2};
  sampling_scratch scratch{3};
  for (const float penalty : {0.01F, 10.0F})
    for (const float temperature : {0.0F, 0.5F, 10.0F}) {
      const draw_rules rules{temperature, 1, 0, 1.0F, 0.0F, penalty};
      EXPECT_EQ(sample(scalar_kernels(), extreme, scratch, {rules, 0, all})->id, 0U);
      EXPECT_LT(sample(scalar_kernels(), extreme, scratch, {rules, 0, all, all})->id, 3U);
    }
}

TEST(sampler_distribution, greedy_does_not_ask_what_may_be_drawn) {
  const auto counts = drawn(logits, {0.0F, 1, 3, 0.5F, 0.5F});
  EXPECT_EQ(counts[1], draws);
}

} // namespace
} // namespace penstock::gpu
