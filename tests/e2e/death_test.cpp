// Processes die: requests end within their budget, the next one works, nothing is left behind.
#include "cluster.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace penstock::e2e {
namespace {

/// Asks until it is answered: while a node restarts, refusals are right. Bounded by tries.
nlohmann::json ask_until_answered(cluster& c) {
  nlohmann::json a;
  for (int tries = 0; tries < 100; ++tries) {
    a = c.ask({"--max-tokens", "8", "--budget-ms", "2000", "--", "The old prince"});
    if (a["exit_code"] == 0)
      break;
  }
  return a;
}

class when_dies : public testing::TestWithParam<const char*> {};

TEST_P(when_dies, the_request_ends_in_its_budget_and_the_next_is_answered) {
  cluster c;
  auto expected = fingerprint(oracle("builtin", {"--max-tokens", "8", "--", "The old prince"}));
  auto before = c.pid_of(GetParam());
  ASSERT_GT(before, 0);

  process hit{c.ask_command({"--max-tokens", "400", "--ignore-end", "--budget-ms", "20000", "--",
                             "The old prince went to"})};
  hit.read_until([](const finished& f) { return !f.out.empty(); });
  kill(before, SIGKILL);
  auto ended = hit.wait(30); // Fails the test if it takes longer.
  EXPECT_TRUE(ended.exit_code == 0 || ended.exit_code == 1) << ended.exit_code << ended.err;

  EXPECT_EQ(fingerprint(ask_until_answered(c)), expected);
  auto after = c.pid_of(GetParam());
  EXPECT_GT(after, 0);
  EXPECT_NE(after, before);
  EXPECT_EQ(c.metrics_of(GetParam())["penstock_node_restarts_total"], 1);
}

TEST_P(when_dies, idle_the_next_request_is_answered) {
  cluster c;
  kill(c.pid_of(GetParam()), SIGKILL);
  EXPECT_EQ(ask_until_answered(c)["exit_code"], 0);
  EXPECT_EQ(ask_until_answered(c)["exit_code"], 0);
}

INSTANTIATE_TEST_SUITE_P(node, when_dies, testing::Values("p0", "d0", "g0"),
                         [](const auto& each) { return std::string{each.param}; });

TEST(up, stops_every_node_when_told_and_exits_0) {
  cluster c;
  std::vector<pid_t> nodes{c.pid_of("g0"), c.pid_of("p0"), c.pid_of("d0")};
  EXPECT_EQ(c.stop(), 0);
  for (auto pid : nodes) {
    EXPECT_GT(pid, 0);
    EXPECT_EQ(kill(pid, 0), -1) << "a node outlived the supervisor";
  }
}

TEST(up, says_which_address_is_taken) {
  cluster c;
  auto second = run({penstock(), "up", c.file()});
  EXPECT_EQ(second.exit_code, 1);
  EXPECT_NE(second.err.find("is taken"), std::string::npos) << second.err;
}

TEST(up, refuses_a_model_that_is_none) {
  auto f = run({penstock(), "up", "--model", "/nonexistent"});
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_NE(f.err.find("/nonexistent"), std::string::npos) << f.err;
}

TEST(node, ends_with_exit_code_0_when_told) {
  cluster c; // Only for a file with free ports.
  c.stop();
  process node{{penstock(), "node", "d0", "--config", c.file()}};
  node.read_until([](const finished& f) { return !f.err.empty(); }); // Its first log line.
  node.send_signal(SIGTERM);
  EXPECT_EQ(node.wait().exit_code, 0) << node.so_far().err;
}

} // namespace
} // namespace penstock::e2e
