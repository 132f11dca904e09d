// /healthz and /readyz of real nodes: ready once they know each other, not while one is silent.
#include "cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <thread>

namespace penstock::e2e {
namespace {

using ::testing::HasSubstr;

/// Asks until the reply begins with such a status line. @returns The last reply.
std::string page_with(const cluster& c, const std::string& node, const std::string& path,
                      const std::string& status) {
  std::string reply;
  for (int tries = 0; tries < 600; ++tries) {
    reply = c.page_of(node, path);
    if (reply.rfind("HTTP/1.1 " + status, 0) == 0)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds{50}); // Between two looks.
  }
  return reply;
}

TEST(health, a_gateway_is_ready_while_both_roles_are_served) {
  cluster c;
  for (const char* node : {"g0", "p0", "d0"}) {
    EXPECT_THAT(page_with(c, node, "/readyz", "200"), HasSubstr("\"ready\":true")) << node;
    EXPECT_THAT(c.page_of(node, "/healthz"), HasSubstr("HTTP/1.1 200 ")) << node;
  }
  auto decode = c.pid_of("d0");
  ASSERT_GT(decode, 0);
  ASSERT_EQ(kill(decode, SIGSTOP), 0);
  EXPECT_THAT(page_with(c, "g0", "/readyz", "503"),
              HasSubstr("\"ready\":false,\"draining\":false,\"reason\":\"no live decode node\""));
  EXPECT_THAT(c.page_of("g0", "/healthz"), HasSubstr("HTTP/1.1 200 "));
  ASSERT_EQ(kill(decode, SIGCONT), 0);
  EXPECT_THAT(page_with(c, "g0", "/readyz", "200"), HasSubstr("\"reason\":\"\""));
  EXPECT_THAT(c.page_of("g0", "/nothing"), HasSubstr("HTTP/1.1 404 "));
}

} // namespace
} // namespace penstock::e2e
