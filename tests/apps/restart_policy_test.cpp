#include "apps/restart_policy.hpp"

#include <gtest/gtest.h>

namespace penstock::apps {
namespace {

restart_limits limits() {
  return {.backoff_us_min = 100, .backoff_us_max = 450, .burst = 4, .window_us = 10'000};
}

TEST(restart_policy, doubles_the_wait_up_to_its_limit) {
  restart_policy policy{limits()};
  EXPECT_EQ(policy.ended(0), 100U);
  EXPECT_EQ(policy.ended(1), 200U);
  EXPECT_EQ(policy.ended(2), 400U);
  EXPECT_EQ(policy.ended(3), 450U);
  EXPECT_EQ(policy.restart_count(), 4U);
}

TEST(restart_policy, gives_up_after_the_burst) {
  restart_policy policy{limits()};
  for (time_us now = 0; now < 4; ++now)
    EXPECT_TRUE(policy.ended(now));
  EXPECT_FALSE(policy.ended(4));
  EXPECT_EQ(policy.restart_count(), 4U);
}

TEST(restart_policy, forgets_restarts_older_than_the_window) {
  restart_policy policy{limits()};
  for (time_us now = 0; now < 4; ++now)
    EXPECT_TRUE(policy.ended(now));
  EXPECT_FALSE(policy.ended(10'000)); // The one at 0 is still in it.
  EXPECT_EQ(policy.ended(10'001), 450U);
  EXPECT_EQ(policy.ended(50'000), 100U);
  EXPECT_EQ(policy.restart_count(), 6U);
}

TEST(restart_policy, with_no_burst_never_restarts) {
  auto none = limits();
  none.burst = 0;
  restart_policy policy{none};
  EXPECT_FALSE(policy.ended(0));
}

TEST(restart_policy, survives_limits_near_overflow) {
  restart_policy policy{
    {.backoff_us_min = uint64_t{1} << 62U, .backoff_us_max = ~uint64_t{0}, .burst = 10}};
  EXPECT_EQ(policy.ended(0), uint64_t{1} << 62U);
  EXPECT_EQ(policy.ended(0), uint64_t{1} << 63U);
  EXPECT_EQ(policy.ended(0), ~uint64_t{0});
}

} // namespace
} // namespace penstock::apps
