#include "actors/guardrail_rules.hpp"

#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

/// Each look at it takes `step` µs.
class ticking_clock final : public clock {
public:
  explicit ticking_clock(uint64_t step) : step_(step) {}
  [[nodiscard]] time_us now() const noexcept override { return now_ += step_; }

private:
  uint64_t step_;
  mutable time_us now_ = 0;
};

TEST(guardrail_rules, blocks_what_matches_and_names_the_rule) {
  ticking_clock time{1};
  auto rules = guardrail_rules::compile({{"cards", "[0-9]{16}"}, {"word", "(?i)forbidden"}},
                                        {1000, false}, time);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->judge("a harmless question").allowed);
  auto v = rules->judge("this is ForBidden");
  EXPECT_FALSE(v.allowed);
  EXPECT_EQ(v.rule, "word");
}

TEST(guardrail_rules, a_bad_pattern_is_refused_by_name) {
  ticking_clock time{1};
  auto rules = guardrail_rules::compile({{"broken", "(unclosed"}}, {1000, false}, time);
  ASSERT_FALSE(rules);
  EXPECT_NE(rules.err().detail.find("broken"), std::string::npos);
}

TEST(guardrail_rules, a_spent_budget_follows_the_policy) {
  for (bool allow : {false, true}) {
    ticking_clock time{600};
    auto rules = guardrail_rules::compile({{"a", "x"}, {"b", "y"}}, {1000, allow}, time);
    ASSERT_TRUE(rules);
    auto v = rules->judge("nothing of that sort");
    EXPECT_TRUE(v.timed_out);
    EXPECT_EQ(v.allowed, allow);
  }
}

TEST(guardrail_rules, a_pattern_that_blows_up_elsewhere_is_linear_here) {
  ticking_clock time{0};
  auto rules = guardrail_rules::compile({{"evil", "(a*)*b"}}, {1000, false}, time);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->judge(std::string(100'000, 'a')).allowed);
}

TEST(guardrail_rules, no_rules_allow_everything) {
  ticking_clock time{1};
  auto rules = guardrail_rules::compile({}, {1000, false}, time);
  ASSERT_TRUE(rules);
  EXPECT_TRUE(rules->judge("").allowed);
}

} // namespace
} // namespace penstock::actors
