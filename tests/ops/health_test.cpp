#include "ops/health.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace penstock::ops {
namespace {

TEST(health, starts_alive_and_not_ready) {
  health h{1'000'000};
  EXPECT_EQ(to_text(h.view(2'500'000)), "not ready: starting, last progress 1.500 s ago");
  h.set_ready();
  EXPECT_EQ(to_text(h.view(1'000'000)), "ready, last progress 0.000 s ago");
}

TEST(health, readiness_comes_and_goes_with_a_reason) {
  health h{0};
  h.set_ready();
  h.set_unready("no decode node");
  EXPECT_FALSE(h.view(0).ready);
  EXPECT_EQ(h.view(0).reason, "no decode node");
  h.set_ready();
  EXPECT_TRUE(h.view(0).ready);
  EXPECT_EQ(h.view(0).reason, "");
}

TEST(health, draining_and_death_are_final) {
  health h{0};
  h.set_ready();
  h.set_draining();
  h.set_ready();
  EXPECT_FALSE(h.view(0).ready);
  EXPECT_TRUE(h.view(0).draining);
  h.set_dead("device failed");
  h.set_dead("later");
  h.set_ready();
  EXPECT_FALSE(h.view(0).alive);
  EXPECT_EQ(to_text(h.view(0)), "dead: device failed, last progress 0.000 s ago");
}

TEST(health, progress_never_goes_back) {
  health h{0};
  h.went_round(5'000);
  h.went_round(3'000);
  EXPECT_EQ(h.view(7'000).progress_age, 2'000U);
  EXPECT_EQ(h.view(4'000).progress_age, 0U);
}

TEST(health, a_step_that_does_not_end_makes_a_node_not_ready_though_its_loop_goes_round) {
  health h{0};
  h.set_ready();
  h.work_began(1'000'000);
  h.went_round(11'000'000);
  EXPECT_TRUE(h.view(11'000'000).ready);
  h.went_round(12'000'000);
  auto stuck = h.view(12'000'000);
  EXPECT_FALSE(stuck.ready);
  EXPECT_TRUE(stuck.alive);
  EXPECT_EQ(to_text(stuck),
            "not ready: a step on the device does not end, last progress 11.000 s ago");
  h.work_ended(12'500'000);
  EXPECT_TRUE(h.view(12'500'000).ready);
}

TEST(health, a_loop_that_does_not_go_round_makes_a_node_not_ready) {
  health h{0};
  h.set_ready();
  h.went_round(1'000'000);
  EXPECT_EQ(to_text(h.view(12'000'000)),
            "not ready: the node's loop is stuck, last progress 11.000 s ago");
  h.went_round(12'000'000);
  EXPECT_TRUE(h.view(12'000'000).ready);
}

TEST(health, one_of_two_steps_that_ends_is_progress) {
  health h{0};
  h.set_ready();
  h.work_began(0);
  h.work_began(1);
  h.work_ended(9'000'000);
  EXPECT_TRUE(h.view(15'000'000).ready);
  EXPECT_FALSE(h.view(20'000'000).ready);
}

TEST(health, json_escapes_the_reason) {
  health h{0};
  h.set_unready("a \"b\" \\ \n");
  EXPECT_EQ(to_json(h.view(1'234'567)),
            "{\"alive\":true,\"ready\":false,\"draining\":false,"
            "\"reason\":\"a \\\"b\\\" \\\\ \\u000a\",\"progress_age_seconds\":1.234}");
}

TEST(health, writers_and_readers_may_be_different_threads) {
  health h{0};
  std::thread writer{[&h] {
    for (time_us t = 1; t <= 10'000; ++t)
      h.went_round(t);
  }};
  for (int i = 0; i < 1000; ++i)
    EXPECT_LE(h.view(10'000).progress_age, 10'000U);
  writer.join();
  EXPECT_EQ(h.view(10'000).progress_age, 0U);
}

} // namespace
} // namespace penstock::ops
