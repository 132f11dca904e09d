// The example client, run as its reader would.
#include "fake_service.hpp"
#include "schema/rpc_server.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace penstock::schema {
namespace {

using ::testing::HasSubstr;

struct ran {
  std::string output; // Both streams.
  int status = -1;
};

ran run_example(const std::string& words) {
  std::string command = PENSTOCK_BINARY_DIR "/examples/example_generate " + words + " 2>&1";
  ran out;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr)
    return out;
  char buffer[256];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, pipe))
    out.output.append(buffer, got);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

TEST(example_generate, prints_text_and_ending) {
  testing::fake_service service{[](const auto& request, token_sink& sink) {
    generated_token t{1, -1.0F};
    sink.push({&t, 1}, request.prompt + ", the end.");
    auto ending = testing::ending(finish_reason::stop);
    ending.usage.prompt_tokens = 4;
    ending.usage.completion_tokens = 1;
    sink.done(ending);
  }};
  rpc_server server{service, {}};
  auto port = server.start();
  ASSERT_TRUE(port);
  auto got = run_example("127.0.0.1:" + std::to_string(*port) + " 'Once upon a time'");
  EXPECT_EQ(got.status, 0);
  EXPECT_THAT(got.output, HasSubstr("Once upon a time, the end."));
  EXPECT_THAT(got.output, HasSubstr("stop: 4 + 1 tokens"));
}

TEST(example_generate, says_why_it_failed) {
  testing::fake_service service{[](const auto& /*request*/, token_sink& sink) {
    auto ending = testing::ending(finish_reason::refused, errc::overloaded);
    ending.detail = "the queue is full";
    sink.done(ending);
  }};
  rpc_server server{service, {}};
  auto port = server.start();
  ASSERT_TRUE(port);
  auto got = run_example("127.0.0.1:" + std::to_string(*port) + " hello");
  EXPECT_EQ(got.status, 1);
  EXPECT_THAT(got.output, HasSubstr("refused (overloaded: the queue is full)"));
  EXPECT_EQ(run_example("nowhere hello").status, 1);
  EXPECT_EQ(run_example("").status, 2);
}

} // namespace
} // namespace penstock::schema
