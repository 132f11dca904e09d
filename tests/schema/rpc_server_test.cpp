#include "base/limits.hpp"
#include "fake_service.hpp"
#include "raw_client.hpp"
#include "schema/rpc_client.hpp"
#include "schema/rpc_server.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

namespace penstock::schema {
namespace {

using namespace std::chrono_literals;
using testing::fake_service;
using testing::heard;
using testing::raw_client;
using manner = testing::raw_sink::manner;
using ::testing::HasSubstr;

class rpc_server_test : public ::testing::Test {
protected:
  // @param options Its address is any free port unless the test sets one.
  void serve(rpc_server_options options = {}) {
    server = std::make_unique<rpc_server>(service, options);
    auto started = server->start();
    ASSERT_TRUE(started) << started.err().text();
    port = *started;
    address = "127.0.0.1:" + std::to_string(port);
    client = std::make_unique<raw_client>(io, address);
  }

  // Whether somebody else is served as if nothing had happened.
  bool serves_others() {
    auto other = rpc_client::connect(address, 10s);
    return other && (*other)->info();
  }

  void TearDown() override { client.reset(); }

  std::unique_ptr<kj::AsyncIoContext> context
    = std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
  kj::AsyncIoContext& io = *context;
  fake_service service;
  std::unique_ptr<rpc_server> server;
  std::unique_ptr<raw_client> client;
  uint16_t port = 0;
  std::string address;
  heard got;
};

TEST_F(rpc_server_test, a_client_that_vanishes_cancels_once) {
  serve();
  auto ticket = client->request(got).send().wait(io.waitScope);
  auto sink = service.wait_for_request();
  ASSERT_NE(sink, nullptr);
  client.reset(); // Closes the socket, with the request open and the ticket held.
  ASSERT_TRUE(service.wait_for_cancel());
  testing::push_numbers(*sink, 1);
  sink->done(testing::ending(finish_reason::cancelled, errc::cancelled));
  EXPECT_TRUE(serves_others());
  server->stop();
  EXPECT_EQ(service.cancelled(), std::vector<request_id>{1});
}

TEST_F(rpc_server_test, dropping_the_ticket_cancels_and_the_ending_still_comes) {
  serve();
  {
    auto ticket = client->request(got).send().wait(io.waitScope);
    ASSERT_NE(service.wait_for_request(), nullptr);
    EXPECT_TRUE(service.cancelled().empty());
  }
  ASSERT_TRUE(client->turn_until([this] { return !service.cancelled().empty(); }));
  service.wait_for_request()->done(testing::ending(finish_reason::cancelled, errc::cancelled));
  ASSERT_TRUE(client->turn_until([this] { return got.endings > 0; }));
  EXPECT_EQ(got.reason, static_cast<uint16_t>(finish_reason::cancelled));
  EXPECT_EQ(got.code_name, "cancelled");
}

TEST_F(rpc_server_test, cancelling_twice_and_dropping_cancels_once) {
  serve();
  {
    auto response = client->request(got).send().wait(io.waitScope);
    auto ticket = response.getTicket();
    ticket.cancelRequest().send().wait(io.waitScope);
    ticket.cancelRequest().send().wait(io.waitScope);
  }
  client.reset();
  EXPECT_TRUE(serves_others()); // By now the server has seen the other client leave, or will below.
  server->stop();
  EXPECT_EQ(service.cancelled(), std::vector<request_id>{1});
}

TEST_F(rpc_server_test, dropping_the_ticket_after_the_end_cancels_nothing) {
  serve();
  {
    auto response = client->request(got).send().wait(io.waitScope);
    service.wait_for_request()->done(testing::ending(finish_reason::stop));
    ASSERT_TRUE(client->turn_until([this] { return got.endings > 0; }));
  }
  client.reset();
  server->stop();
  EXPECT_TRUE(service.cancelled().empty());
}

TEST_F(rpc_server_test, a_slow_client_fills_only_its_own_buffer) {
  constexpr uint32_t count = 200'000;
  serve();
  auto response = client->request(got, manner::deaf, count).send().wait(io.waitScope);
  auto sink = service.wait_for_request();
  ASSERT_NE(sink, nullptr);
  // The client's loop does not even turn meanwhile; this returns all the same.
  testing::push_numbers(*sink, count);
  sink->done(testing::ending(finish_reason::length));
  EXPECT_TRUE(serves_others());
  // It stays in its first push; the rest, and the ending, wait for it.
  ASSERT_TRUE(client->turn_until([&] { return got.pushes > 0; }));
  EXPECT_EQ(got.pushes, 1U);
  EXPECT_EQ(got.endings, 0U);
}

TEST_F(rpc_server_test, a_sink_that_fails_cancels) {
  serve();
  auto response = client->request(got, manner::failing, 100'000).send().wait(io.waitScope);
  auto sink = service.wait_for_request();
  ASSERT_NE(sink, nullptr);
  // A failed push is heard of at a later one: pushes are not awaited one by one.
  ASSERT_TRUE(client->turn_until([&] {
    testing::push_numbers(*sink, 1);
    return !service.cancelled().empty();
  }));
  EXPECT_EQ(service.cancelled(), std::vector<request_id>{1});
}

TEST_F(rpc_server_test, refuses_what_is_out_of_range_and_names_the_field) {
  serve();
  using change = void (*)(wire::GenerateRequest::Builder);
  const std::pair<const char*, change> cases[] = {
    {"prompt", [](auto r) { r.initPrompt(penstock::limits::prompt_bytes_max + 1); }},
    {"prompt_ids", [](auto r) { r.initPromptIds((1U << 20U) + 1); }},
    {"model", [](auto r) { r.initModel(257); }},
    {"temperature", [](auto r) { r.setTemperature(-1.0F); }},
    {"temperature", [](auto r) { r.setTemperature(10.01F); }},
    {"temperature", [](auto r) { r.setTemperature(0.0F / 0.0F); }},
    {"tokens_max", [](auto r) { r.setTokensMax(0); }},
    {"tokens_max", [](auto r) { r.setTokensMax((1U << 20U) + 1); }},
    {"budget_us", [](auto r) { r.setBudgetUs(0); }},
    {"budget_us", [](auto r) { r.setBudgetUs(3'600'000'001); }},
    {"top_p", [](auto r) { r.setTopP(0.0F); }},
    {"top_p", [](auto r) { r.setTopP(1.01F); }},
    {"min_p", [](auto r) { r.setMinP(-0.1F); }},
    {"min_p", [](auto r) { r.setMinP(0.0F / 0.0F); }},
    {"repetition_penalty", [](auto r) { r.setRepetitionPenalty(0.0F); }},
    {"repetition_penalty", [](auto r) { r.setRepetitionPenalty(1.0F / 0.0F); }},
    {"tokens_min is 17, more than tokens_max, 16", [](auto r) { r.setTokensMin(17); }},
    {"top_logprobs is 21, not in [0, 20]", [](auto r) { r.setTopLogprobs(21); }},
    {"stop_ids has 65 ids, more than 64", [](auto r) { r.initStopIds(65); }},
    {"stop_strings has 17", [](auto r) { r.initStopStrings(17); }},
    {"stop_strings is empty", [](auto r) { r.initStopStrings(1); }},
    {"stop_strings has 257", [](auto r) { r.initStopStrings(1).init(0, 257); }},
    {"reply_prefix has 65537", [](auto r) { r.initReplyPrefix(65537); }},
    {"prompt with reply_prefix",
     [](auto r) {
       r.initPrompt(penstock::limits::prompt_bytes_max);
       r.setReplyPrefix("x");
     }},
    {"prompt and prompt_ids", [](auto r) { r.initPromptIds(1); }},
    {"tenant has 65 bytes, more than 64", [](auto r) { r.initTenant(65); }},
    {"tenant has byte 47 at 1", [](auto r) { r.setTenant("a/b"); }},
    {"tenant has byte 195 at 0", [](auto r) { r.setTenant("\xC3\xA4"); }},
    {"cache_salt has 129 bytes, more than 128", [](auto r) { r.initCacheSalt(129); }},
    {"priority is 3, not", [](auto r) { r.setPriority(static_cast<wire::Priority>(3)); }},
    {"priority is 255, not", [](auto r) { r.setPriority(static_cast<wire::Priority>(256)); }},
  };
  for (const auto& [field, apply] : cases) {
    heard answer;
    auto call = client->request(answer);
    apply(call.getRequest());
    auto response = call.send().wait(io.waitScope);
    ASSERT_TRUE(client->turn_until([&] { return answer.endings > 0; })) << field;
    EXPECT_EQ(answer.reason, static_cast<uint16_t>(finish_reason::refused));
    EXPECT_EQ(answer.code_name, "invalid_argument");
    EXPECT_THAT(answer.detail, HasSubstr(field));
    response.getTicket().cancelRequest().send().wait(io.waitScope); // Harmless.
  }
  EXPECT_TRUE(service.requests().empty());
  EXPECT_TRUE(service.cancelled().empty());
}

TEST_F(rpc_server_test, a_request_without_a_sink_fails_alone) {
  serve();
  EXPECT_ANY_THROW(client->gateway().generateRequest().send().wait(io.waitScope));
  EXPECT_NO_THROW(client->gateway().infoRequest().send().wait(io.waitScope));
}

TEST_F(rpc_server_test, refuses_more_requests_than_a_connection_may_have_open) {
  serve({.requests_per_connection_max = 2});
  heard answers[3];
  auto one = client->request(answers[0]).send().wait(io.waitScope);
  auto two = client->request(answers[1]).send().wait(io.waitScope);
  auto three = client->request(answers[2]).send().wait(io.waitScope);
  ASSERT_TRUE(client->turn_until([&] { return answers[2].endings > 0; }));
  EXPECT_EQ(answers[2].code_name, "overloaded");
  service.wait_for_request()->done(testing::ending(finish_reason::stop));
  ASSERT_TRUE(client->turn_until([&] { return answers[0].endings > 0; }));
  heard fourth;
  auto four = client->request(fourth).send().wait(io.waitScope);
  EXPECT_EQ(service.requests().size(), 3U); // One ended, so one more may come.
}

TEST_F(rpc_server_test, a_client_that_takes_no_endings_is_not_served_for_ever) {
  serve({.requests_per_connection_max = 2});
  heard answer;
  auto send = [&] {
    auto call = client->request(answer, manner::deaf);
    call.getRequest().setBudgetUs(0);
    call.send().wait(io.waitScope);
  };
  for (int i = 0; i < 4; ++i)
    EXPECT_NO_THROW(send());
  EXPECT_ANY_THROW(send());
}

TEST_F(rpc_server_test, closes_more_connections_than_it_may_have) {
  serve({.connections_max = 1});
  client->gateway().infoRequest().send().wait(io.waitScope);
  auto other = rpc_client::connect(address, 100ms);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.err().code, errc::unavailable);
  client.reset();
  EXPECT_TRUE(serves_others()); // There is room again.
}

int connect_plain(uint16_t port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  return fd;
}

TEST_F(rpc_server_test, garbage_on_the_port_hurts_nobody_else) {
  serve();
  auto response = client->request(got).send().wait(io.waitScope);
  const std::string garbage[] = {
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n",        std::string(4096, '\xFF'), std::string(4096, '\0'),
    std::string{"\0\0\0\0\xFF\xFF\xFF\x7F", 8}, // One segment of 16 GiB.
    std::string{"\0\0\0\0\x10\0\0\0", 8},       // Half a message.
  };
  for (const auto& bytes : garbage) {
    int fd = connect_plain(port);
    EXPECT_EQ(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    EXPECT_TRUE(serves_others());
    ::close(fd);
  }
  service.wait_for_request()->done(testing::ending(finish_reason::stop));
  EXPECT_TRUE(client->turn_until([this] { return got.endings > 0; }));
}

TEST_F(rpc_server_test, a_message_beyond_the_limit_closes_only_its_connection) {
  serve();
  auto call = client->request(got);
  call.getRequest().initPrompt(17U << 20U);
  EXPECT_ANY_THROW(call.send().wait(io.waitScope));
  EXPECT_TRUE(serves_others());
}

TEST_F(rpc_server_test, a_taken_port_is_an_error_that_says_so) {
  serve();
  rpc_server second{service, {.address = address}};
  auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.err().code, errc::io_failed);
  EXPECT_THAT(started.err().detail, HasSubstr(address));
  EXPECT_THAT(started.err().detail, HasSubstr("in use"));
}

TEST_F(rpc_server_test, an_address_that_is_none_is_an_error) {
  rpc_server s{service, {.address = "7600"}};
  EXPECT_EQ(s.start().err().code, errc::invalid_argument);
}

TEST_F(rpc_server_test, stopping_twice_or_without_start_is_fine) {
  serve();
  server->stop();
  server->stop();
  rpc_server never{service, {}};
  never.stop();
}

TEST_F(rpc_server_test, listens_on_ipv6) {
  rpc_server s{service, {.address = "[::1]:0"}};
  auto started = s.start();
  if (!started)
    GTEST_SKIP() << "no IPv6 here: " << started.err().text();
  auto other = rpc_client::connect("[::1]:" + std::to_string(*started), 10s);
  ASSERT_TRUE(other) << other.err().text();
  EXPECT_TRUE((*other)->info());
}

TEST_F(rpc_server_test, a_unix_socket_left_by_a_killed_server_is_taken_over) {
  std::string path = "/tmp/penstock-rpc-test-" + std::to_string(::getpid());
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof name), 0);
  ::close(fd); // The file stays, as after kill -9.
  {
    rpc_server s{service, {.address = "unix:" + path}};
    ASSERT_TRUE(s.start());
    auto other = rpc_client::connect("unix:" + path, 10s);
    ASSERT_TRUE(other) << other.err().text();
    rpc_server second{service, {.address = "unix:" + path}};
    EXPECT_EQ(second.start().err().code, errc::io_failed); // This one is alive.
    EXPECT_TRUE((*other)->info());
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(rpc_server_test, a_file_that_is_no_socket_is_left_alone) {
  std::string path = "/tmp/penstock-rpc-file-" + std::to_string(::getpid());
  std::fclose(std::fopen(path.c_str(), "w"));
  rpc_server s{service, {.address = "unix:" + path}};
  EXPECT_EQ(s.start().err().code, errc::io_failed);
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

} // namespace
} // namespace penstock::schema
