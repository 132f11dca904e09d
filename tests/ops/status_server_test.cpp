#include "ops/status_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace penstock::ops {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// @returns The reply to a request on a loopback port, headers included.
std::string fetch(uint16_t port, const std::string& line) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  std::string request = line + " HTTP/1.0\r\nHost: x\r\n\r\n";
  if (connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof(at)) == 0
      && write(fd, request.data(), request.size()) == static_cast<ssize_t>(request.size())) {
    char part[4096];
    for (ssize_t got = 0; (got = read(fd, part, sizeof(part))) > 0;)
      out.append(part, static_cast<size_t>(got));
  }
  close(fd);
  return out;
}

status_server::pages two_pages(std::atomic<int>& calls) {
  return {{"/a",
           [&calls] {
             ++calls;
             return status_page{200, "application/json", "{}"};
           }},
          {"/b", [] {
             return status_page{503, "text/plain", "not now"};
           }}};
}

TEST(status_server, serves_each_page_with_its_code_type_and_length) {
  std::atomic<int> calls = 0;
  auto server = status_server::start("127.0.0.1:0", two_pages(calls));
  ASSERT_TRUE(server) << server.err().text();
  auto port = (*server)->port();
  ASSERT_NE(port, 0);
  auto a = fetch(port, "GET /a");
  EXPECT_THAT(a, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(a, HasSubstr("Content-Type: application/json\r\n"));
  EXPECT_THAT(a, HasSubstr("Content-Length: 2\r\n"));
  EXPECT_THAT(a, EndsWith("\r\n\r\n{}"));
  auto b = fetch(port, "GET /b?x=1");
  EXPECT_THAT(b, StartsWith("HTTP/1.1 503 "));
  EXPECT_THAT(b, EndsWith("not now"));
  EXPECT_EQ(calls, 1);
}

TEST(status_server, head_has_no_body) {
  std::atomic<int> calls = 0;
  auto server = status_server::start("127.0.0.1:0", two_pages(calls));
  ASSERT_TRUE(server);
  EXPECT_THAT(fetch((*server)->port(), "HEAD /b"), EndsWith("close\r\n\r\n"));
}

TEST(status_server, refuses_other_paths_and_methods) {
  std::atomic<int> calls = 0;
  auto server = status_server::start("127.0.0.1:0", two_pages(calls));
  ASSERT_TRUE(server);
  auto port = (*server)->port();
  for (const char* path : {"/", "/a/", "/a/b", "/c", "/../a/x", "/%61x"})
    EXPECT_THAT(fetch(port, std::string{"GET "} + path), StartsWith("HTTP/1.1 404 ")) << path;
  EXPECT_THAT(fetch(port, "GET /"), EndsWith("there are: /a /b\n"));
  EXPECT_THAT(fetch(port, "POST /a"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(fetch(port, "DELETE /a"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(fetch(port, "nonsense"), ::testing::Not(HasSubstr(" 200 ")));
  EXPECT_EQ(calls, 0);
}

TEST(status_server, answers_many_clients_at_once) {
  std::atomic<int> calls = 0;
  auto server = status_server::start("127.0.0.1:0", two_pages(calls));
  ASSERT_TRUE(server);
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i)
    clients.emplace_back(
      [port = (*server)->port()] { EXPECT_THAT(fetch(port, "GET /a"), EndsWith("{}")); });
  for (auto& client : clients)
    client.join();
  EXPECT_EQ(calls, 8);
}

TEST(status_server, a_busy_port_is_an_error_that_names_it) {
  auto first = status_server::start("127.0.0.1:0", {});
  ASSERT_TRUE(first);
  std::string address = "127.0.0.1:" + std::to_string((*first)->port());
  auto refused = status_server::start(address, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.err().code, errc::io_failed);
  EXPECT_THAT(refused.err().detail, HasSubstr(address));
  EXPECT_THAT(refused.err().detail, HasSubstr("in use"));
}

TEST(status_server, an_address_that_is_none_is_an_error) {
  for (const char* address : {"", "127.0.0.1", "nowhere:80", "127.0.0.1:x", "[::1:80"}) {
    auto refused = status_server::start(address, {});
    ASSERT_FALSE(refused) << address;
    EXPECT_EQ(refused.err().code, errc::io_failed);
  }
}

} // namespace
} // namespace penstock::ops
