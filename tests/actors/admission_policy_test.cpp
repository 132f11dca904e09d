#include "actors/admission_policy.hpp"
#include "base/rng.hpp"

#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

using answer = admission_policy::answer;

TEST(admission_policy, admits_waits_and_refuses_in_that_order) {
  admission_policy policy{{10, 1, 1000}};
  EXPECT_EQ(*policy.ask(1, 8, 0), answer::enter);
  EXPECT_EQ(*policy.ask(2, 3, 0), answer::wait);
  auto third = policy.ask(3, 1, 0);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.err().code, errc::overloaded);
  EXPECT_GE(policy.retry_after_us(), 100'000u);
}

TEST(admission_policy, lets_the_next_in_when_one_ends) {
  admission_policy policy{{10, 4, 1000}};
  (void)policy.ask(1, 10, 0);
  (void)policy.ask(2, 6, 5);
  (void)policy.ask(3, 4, 6);
  auto turns = policy.retire(1, 20);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].request, 2u);
  EXPECT_EQ(turns[0].waited_us, 15u);
  EXPECT_FALSE(turns[0].refused);
  EXPECT_EQ(turns[1].request, 3u);
  EXPECT_EQ(policy.tokens_in_flight(), 10u);
}

TEST(admission_policy, small_requests_do_not_overtake_a_waiting_one) {
  admission_policy policy{{10, 4, 1000}};
  (void)policy.ask(1, 5, 0);
  EXPECT_EQ(*policy.ask(2, 9, 0), answer::wait);
  EXPECT_EQ(*policy.ask(3, 1, 0), answer::wait);
}

TEST(admission_policy, a_repeated_question_reserves_once) {
  admission_policy policy{{10, 4, 1000}};
  (void)policy.ask(1, 5, 0);
  EXPECT_EQ(*policy.ask(1, 5, 0), answer::enter);
  EXPECT_EQ(policy.tokens_in_flight(), 5u);
}

TEST(admission_policy, what_can_never_fit_is_the_callers_mistake) {
  admission_policy policy{{10, 4, 1000}};
  auto never = policy.ask(1, 11, 0);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.err().code, errc::invalid_argument);
}

TEST(admission_policy, refuses_those_who_waited_too_long) {
  admission_policy policy{{10, 4, 1000}};
  (void)policy.ask(1, 10, 0);
  (void)policy.ask(2, 5, 100);
  EXPECT_TRUE(policy.expire(1099).empty());
  auto turns = policy.expire(1100);
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_TRUE(turns[0].refused);
  EXPECT_EQ(policy.waiting_count(), 0u);
}

TEST(admission_policy, retiring_a_stranger_changes_nothing) {
  admission_policy policy{{10, 4, 1000}};
  (void)policy.ask(1, 4, 0);
  EXPECT_TRUE(policy.retire(99, 1).empty());
  EXPECT_EQ(policy.tokens_in_flight(), 4u);
}

TEST(admission_policy, never_exceeds_its_bounds_and_ends_empty) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    rng draw{seed};
    admission_policy policy{{100, 8, 50}};
    std::vector<request_id> known;
    for (time_us now = 1; now < 400; ++now) {
      if (draw.below(2) == 0) {
        known.push_back(now);
        (void)policy.ask(now, static_cast<uint32_t>(1 + draw.below(60)), now);
      } else if (!known.empty()) {
        (void)policy.retire(known[draw.below(known.size())], now);
      }
      (void)policy.expire(now);
      ASSERT_LE(policy.tokens_in_flight(), 100u) << "seed " << seed;
      ASSERT_LE(policy.waiting_count(), 8u) << "seed " << seed;
    }
    for (auto id : known)
      (void)policy.retire(id, 1000);
    EXPECT_EQ(policy.tokens_in_flight(), 0u) << "seed " << seed;
    EXPECT_EQ(policy.waiting_count(), 0u) << "seed " << seed;
  }
}

} // namespace
} // namespace penstock::actors
