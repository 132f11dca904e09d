#include "ops/metrics.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace penstock::ops {
namespace {

using ::testing::HasSubstr;

/// @returns The reply to GET /metrics on a loopback port, headers included.
std::string fetch(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  constexpr std::string_view request = "GET /metrics HTTP/1.0\r\nHost: x\r\n\r\n";
  if (connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0
      && write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char part[4096];
    for (ssize_t got = 0; (got = read(fd, part, sizeof(part))) > 0;)
      out.append(part, static_cast<size_t>(got));
  }
  close(fd);
  return out;
}

TEST(metrics, serves_what_was_counted_over_http) {
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
  auto served = m.serve("127.0.0.1:0");
  ASSERT_TRUE(served) << served.err().text();
  ASSERT_NE(m.bound_port(), 0);
  std::string text = fetch(m.bound_port());
  EXPECT_THAT(text, HasSubstr("200 OK"));
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

TEST(metrics, a_busy_port_is_an_error_that_names_it) {
  metrics first;
  ASSERT_TRUE(first.serve("127.0.0.1:0"));
  std::string address = "127.0.0.1:" + std::to_string(first.bound_port());
  metrics second;
  auto refused = second.serve(address);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.err().code, errc::io_failed);
  EXPECT_THAT(refused.err().detail, HasSubstr(address));
  EXPECT_THAT(refused.err().detail, HasSubstr("in use"));
  EXPECT_EQ(second.bound_port(), 0);
}

TEST(metrics, an_address_that_is_none_is_an_error) {
  for (const char* address : {"", "127.0.0.1", "nowhere:80", "127.0.0.1:x", "[::1:80"}) {
    metrics m;
    auto refused = m.serve(address);
    ASSERT_FALSE(refused) << address;
    EXPECT_EQ(refused.err().code, errc::io_failed);
  }
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
