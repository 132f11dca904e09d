#include "apps/bench/figures.hpp"
#include "apps/bench/load_run.hpp"
#include "schema/rpc_server.hpp"
#include "tests/schema/fake_service.hpp"

#include <gtest/gtest.h>

namespace penstock::apps::bench {
namespace {

using schema::testing::fake_service;

struct gateway {
  explicit gateway(fake_service::script script) : service(std::move(script)), server(service, {}) {
    auto port = server.start();
    EXPECT_TRUE(port) << port.err().text();
    auto made
      = schema::rpc_client::connect("127.0.0.1:" + std::to_string(*port), std::chrono::seconds{10});
    EXPECT_TRUE(made) << made.err().text();
    client = std::move(*made);
  }

  fake_service service;
  schema::rpc_server server;
  std::unique_ptr<schema::rpc_client> client;
};

void answer(const generate_request& request, schema::token_sink& sink) {
  std::vector<generated_token> tokens(request.sampling.tokens_max);
  sink.push(tokens, "x");
  generate_outcome out;
  out.reason = finish_reason::length;
  out.usage.prompt_tokens = static_cast<uint32_t>(request.prompt_ids.size());
  out.usage.computed_tokens = out.usage.prompt_tokens;
  out.usage.completion_tokens = request.sampling.tokens_max;
  sink.done(out);
}

load_stream stream_of(pacing when, pacer_limits limits, uint64_t warmup = 0) {
  return {workload{synthetic_prompts{8, 0, 3}, {.context = 64}}, std::move(when), limits, warmup};
}

TEST(load_run, closed_loop_sends_all_and_each_comes_back_as_asked) {
  gateway g{answer};
  load_run run{*g.client, {stream_of(closed_loop{4}, {.requests_max = 50}, 5)}};
  auto result = run.run({});
  ASSERT_EQ(result.records.size(), 50U);
  auto f = figures_of(result, {});
  EXPECT_EQ(f.failed(), 0U);
  EXPECT_EQ(f.completed, 45U);
  EXPECT_EQ(f.warmup, 5U);
  EXPECT_EQ(f.output_tokens, 135U);
  EXPECT_EQ(f.prompt_tokens, 360U);
  for (const auto& r : result.records) {
    EXPECT_LE(r.due, r.sent);
    EXPECT_LE(r.sent, r.tokens.front());
    EXPECT_LE(r.tokens.back(), r.ended);
  }
}

TEST(load_run, several_streams_keep_their_own_count) {
  gateway g{answer};
  load_run run{*g.client,
               {stream_of(closed_loop{2}, {.requests_max = 10}),
                stream_of(even_arrivals{0, 100}, {.requests_max = 20}, 3)}};
  auto result = run.run({});
  uint64_t of[2] = {0, 0};
  for (const auto& r : result.records) {
    EXPECT_EQ(r.index, of[r.stream]++);
    EXPECT_EQ(r.counted, r.stream == 0 || r.index >= 3);
  }
  EXPECT_EQ(of[0], 10U);
  EXPECT_EQ(of[1], 20U);
}

TEST(load_run, requests_that_are_refused_are_failures_and_do_not_stop_it) {
  gateway g{[](const generate_request&, schema::token_sink& sink) {
    generate_outcome out;
    out.reason = finish_reason::refused;
    out.code = errc::overloaded;
    out.detail = "full";
    sink.done(out);
  }};
  load_run run{*g.client, {stream_of(closed_loop{3}, {.requests_max = 9})}};
  auto f = figures_of(run.run({}), {});
  EXPECT_EQ(f.completed, 0U);
  EXPECT_EQ(f.failures.at("overloaded").count, 9U);
}

TEST(load_run, cuts_requests_that_would_never_end) {
  gateway g{{}}; // Takes requests, answers nothing.
  load_run run{*g.client, {stream_of(closed_loop{3}, {})}};
  auto result = run.run({}, 50'000);
  ASSERT_EQ(result.records.size(), 3U);
  for (const auto& r : result.records)
    EXPECT_EQ(r.outcome.code, errc::cancelled);
}

} // namespace
} // namespace penstock::apps::bench
