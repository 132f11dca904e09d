#include "ops/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace penstock::ops {
namespace {

using ::testing::HasSubstr;

TEST(metrics, shows_what_was_counted) {
  metrics m;
  counter seen = m.make_counter("test_seen_total", "Seen.", {{"reason", "a"}});
  gauge level = m.make_gauge("test_level_bytes", "Level.");
  constexpr double bounds[] = {.1, 1};
  histogram took = m.make_histogram("test_took_seconds", "Took.", bounds);
  seen.add();
  seen.add(2);
  level.set(5);
  level.add(-1);
  took.observe(.5);
  std::string text = m.text();
  EXPECT_THAT(text, HasSubstr("test_seen_total{reason=\"a\"} 3"));
  EXPECT_THAT(text, HasSubstr("test_level_bytes 4"));
  EXPECT_THAT(text, HasSubstr("test_took_seconds_bucket{le=\"0.1\"} 0"));
  EXPECT_THAT(text, HasSubstr("test_took_seconds_bucket{le=\"1\"} 1"));
}

TEST(metrics, the_same_name_and_labels_are_the_same_series) {
  metrics m;
  m.make_counter("test_total", "T.", {{"a", "1"}}).add();
  counter again = m.make_counter("test_total", "T.", {{"a", "1"}});
  again.add();
  EXPECT_EQ(again.value(), 2);
  EXPECT_EQ(m.make_counter("test_total", "T.", {{"a", "2"}}).value(), 0);
}

TEST(metrics, instruments_without_a_registry_count_nowhere) {
  counter c;
  gauge g;
  histogram h;
  c.add();
  g.set(1);
  g.add(1);
  h.observe(1);
  EXPECT_EQ(c.value(), 0);
  EXPECT_EQ(g.value(), 0);
}

TEST(metrics, threads_lose_no_count) {
  metrics m;
  counter c = m.make_counter("test_total", "T.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([c] {
      for (int i = 0; i < 10'000; ++i)
        c.add();
    });
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(c.value(), 40'000);
}

} // namespace
} // namespace penstock::ops
