#include "gpu/thread_team.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock::gpu {
namespace {

TEST(thread_team, runs_every_part_once_whatever_the_counts) {
  for (const uint32_t threads : {1U, 2U, 3U, 8U}) {
    thread_team team{threads, {}};
    EXPECT_EQ(team.size(), threads);
    for (const uint32_t parts : {0U, 1U, 2U, 3U, 7U, 100U}) {
      std::vector<int> ran(parts, 0);
      std::vector<uint32_t> workers(parts, 0);
      team.run(parts, [&](uint32_t part, uint32_t worker) {
        ++ran[part];
        workers[part] = worker;
      });
      EXPECT_EQ(ran, std::vector<int>(parts, 1));
      for (const uint32_t worker : workers)
        EXPECT_LT(worker, threads);
    }
  }
}

TEST(thread_team, later_runs_see_what_earlier_ones_wrote) {
  thread_team team{3, {}};
  std::vector<uint64_t> values(64, 1);
  std::vector<uint64_t> sums(64, 0);
  for (int round = 0; round < 500; ++round) {
    team.run(64, [&](uint32_t part, uint32_t) {
      sums[part] = std::accumulate(values.begin(), values.end(), uint64_t{0}) % 1000003;
    });
    team.run(64, [&](uint32_t part, uint32_t) { values[part] = sums[63 - part] + part; });
  }
  std::vector<uint64_t> expected(64, 1);
  for (int round = 0; round < 500; ++round) {
    const auto sum = std::accumulate(expected.begin(), expected.end(), uint64_t{0}) % 1000003;
    for (uint32_t part = 0; part < 64; ++part)
      expected[part] = sum + part;
  }
  EXPECT_EQ(values, expected);
}

TEST(thread_team, a_core_that_is_not_there_is_skipped) {
  EXPECT_FALSE(pin_this_thread(1000000));
  thread_team team{2, {0, 1000000}};
  uint32_t ran = 0;
  team.run(1, [&](uint32_t, uint32_t) { ++ran; });
  EXPECT_EQ(ran, 1U);
}

} // namespace
} // namespace penstock::gpu
