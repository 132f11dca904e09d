#include "apps/bench/percentiles.hpp"
#include "base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::apps::bench {
namespace {

// By definition: the smallest sample such that at least `share` of all are at most as large.
double oracle(const std::vector<double>& samples, uint32_t percent) {
  auto sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  for (double candidate : sorted) {
    size_t at_most = 0;
    for (double s : samples)
      at_most += s <= candidate ? 1 : 0;
    if (at_most * 100 >= size_t{percent} * samples.size())
      return candidate;
  }
  return 0.0;
}

TEST(percentiles, are_those_of_the_definition_at_every_count_and_share) {
  rng random{7};
  for (size_t count : {1U, 2U, 3U, 9U, 10U, 11U, 99U, 100U, 101U, 250U}) {
    std::vector<double> samples;
    for (size_t i = 0; i < count; ++i)
      samples.push_back(static_cast<double>(random.below(50))); // Few values: many are equal.
    percentiles p{samples};
    for (uint32_t percent = 1; percent <= 100; ++percent)
      ASSERT_EQ(p.at(percent / 100.0), oracle(samples, percent)) << count << " at " << percent;
    EXPECT_EQ(p.max(), oracle(samples, 100));
    EXPECT_EQ(p.min(), *std::min_element(samples.begin(), samples.end()));
    EXPECT_EQ(p.count(), count);
  }
}

TEST(percentiles, of_nothing_are_zero) {
  percentiles p;
  EXPECT_EQ(p.at(0.99), 0.0);
  EXPECT_EQ(p.max(), 0.0);
  EXPECT_EQ(p.mean(), 0.0);
  EXPECT_EQ(p.count(), 0U);
}

TEST(percentiles, count_what_is_within_a_bound) {
  percentiles p{{4.0, 1.0, 2.0, 2.0}};
  EXPECT_EQ(p.count_up_to(0.5), 0U);
  EXPECT_EQ(p.count_up_to(2.0), 3U);
  EXPECT_EQ(p.count_up_to(9.0), 4U);
  EXPECT_EQ(p.mean(), 2.25);
}

} // namespace
} // namespace penstock::apps::bench
