#include "apps/bench/pacer.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::apps::bench {
namespace {

TEST(poisson_arrivals, come_at_the_rate_asked_for_with_exponential_gaps) {
  for (uint64_t seed : {1U, 2U, 3U}) {
    poisson_arrivals arrivals{200.0, seed};
    constexpr int count = 20'000;
    double sum = 0.0;
    double squares = 0.0;
    int above_mean = 0;
    time_us before = 0;
    for (int i = 0; i < count; ++i) {
      auto at = arrivals.next();
      ASSERT_GE(at, before);
      auto gap = static_cast<double>(at - before);
      before = at;
      sum += gap;
      squares += gap * gap;
      above_mean += gap > 5000.0 ? 1 : 0;
    }
    auto mean = sum / count;
    // Five standard errors: mean 5000, deviation 5000, e^-1 of all above the mean.
    EXPECT_NEAR(mean, 5000.0, 5 * 5000.0 / std::sqrt(count)) << seed;
    EXPECT_NEAR(squares / count - mean * mean, 25e6, 5 * 25e6 * std::sqrt(8.0 / count)) << seed;
    EXPECT_NEAR(above_mean, count * std::exp(-1.0), 5 * std::sqrt(count * 0.2325)) << seed;
  }
}

TEST(poisson_arrivals, are_the_same_for_a_seed_and_others_for_another) {
  poisson_arrivals a{10.0, 1};
  poisson_arrivals b{10.0, 1};
  poisson_arrivals c{10.0, 2};
  auto first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
}

TEST(pacer, closed_loop_waits_for_an_end_and_is_due_from_then) {
  pacer p{closed_loop{2}, {.requests_max = 4}};
  EXPECT_EQ(p.take(), 0U);
  EXPECT_EQ(p.take(), 0U);
  EXPECT_FALSE(p.due());
  EXPECT_FALSE(p.finished());
  p.ended(700);
  ASSERT_TRUE(p.due());
  EXPECT_EQ(p.take(), 700U);
  EXPECT_FALSE(p.due());
  p.ended(800);
  EXPECT_EQ(p.take(), 800U);
  EXPECT_TRUE(p.finished());
  p.ended(900);
  EXPECT_FALSE(p.due());
}

TEST(pacer, closed_loop_ends_with_its_time) {
  pacer p{closed_loop{1}, {.duration_max = 1000}};
  EXPECT_EQ(p.take(), 0U);
  p.ended(999);
  EXPECT_EQ(p.take(), 999U);
  p.ended(1000);
  EXPECT_FALSE(p.due());
  EXPECT_TRUE(p.finished());
}

TEST(pacer, open_loop_does_not_wait_for_ends) {
  pacer p{even_arrivals{5, 10}, {.requests_max = 3}};
  EXPECT_EQ(p.take(), 5U);
  EXPECT_EQ(p.take(), 15U);
  p.ended(16);
  EXPECT_EQ(p.due(), time_us{25});
  EXPECT_EQ(p.take(), 25U);
  EXPECT_TRUE(p.finished());
}

TEST(pacer, open_loop_ends_with_its_time) {
  pacer p{even_arrivals{0, 400}, {.duration_max = 800}};
  EXPECT_EQ(p.take(), 0U);
  EXPECT_EQ(p.take(), 400U);
  EXPECT_TRUE(p.finished()); // The one at 800 would be too late.
}

TEST(pacer, listed_arrivals_end_with_the_list) {
  pacer p{listed_arrivals{{0, 0, 7}}, {}};
  EXPECT_EQ(p.take(), 0U);
  EXPECT_EQ(p.take(), 0U);
  EXPECT_FALSE(p.finished());
  EXPECT_EQ(p.take(), 7U);
  EXPECT_TRUE(p.finished());
}

TEST(pacer, with_nothing_to_send_is_finished_at_once) {
  EXPECT_TRUE((pacer{listed_arrivals{}, {}}.finished()));
  EXPECT_TRUE((pacer{closed_loop{1}, {.requests_max = 0}}.finished()));
}

} // namespace
} // namespace penstock::apps::bench
