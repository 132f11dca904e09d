#include "served.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <future>
#include <thread>

namespace penstock::schema {
namespace {

using namespace std::chrono_literals;
using testing::fake_service;
using ::testing::HasSubstr;
using testing::reply;
using testing::served;
using testing::small_request;

void finish_after_numbers(const generate_request& request, token_sink& sink) {
  testing::push_numbers(sink, request.sampling.tokens_max);
  sink.done(testing::ending(finish_reason::length));
}

TEST(rpc_client, tells_who_serves) {
  served s;
  auto info = s.connect()->info();
  ASSERT_TRUE(info) << info.err().text();
  EXPECT_EQ(info->version, "1.2.3");
  EXPECT_EQ(info->model, "a model");
  EXPECT_EQ(info->model_digest, "abcdef");
  EXPECT_EQ(info->context_tokens, 4096U);
  EXPECT_EQ(info->numerics_id, "avx2-1");
}

TEST(rpc_client, brings_every_field_of_a_request) {
  served s{finish_after_numbers};
  generate_request r;
  r.model = "m";
  r.prompt = std::string{"a\0b", 3};
  r.raw = true;
  r.sampling = {0.75F, 0x123456789ABCDEF0ULL, 2, true, 40, 0.5F, 0.25F, 1.5F, 1, {8, 9}, 20};
  r.stop_strings = {"\n\n", std::string{"a\0b", 3}};
  r.reply_prefix = "Sure";
  r.priority = priority_class::batch;
  r.tenant = "Tenant_1.x-";
  r.cache_salt = std::string{"s\0t", 3};
  r.budget_us = 3'600'000'000;
  auto client = s.connect();
  auto outcome = client->generate(r, {});
  ASSERT_TRUE(outcome) << outcome.err().text();
  ASSERT_EQ(outcome->reason, finish_reason::length) << outcome->detail;
  auto by_ids = testing::small_request(2);
  by_ids.prompt.clear();
  by_ids.prompt_ids = {3, 1, 4, 1, 5};
  ASSERT_TRUE(client->generate(by_ids, {}));
  EXPECT_EQ(s.service.requests().at(1).prompt_ids, by_ids.prompt_ids);
  EXPECT_EQ(s.service.requests().at(1).priority, priority_class::normal);
  auto got = s.service.requests().at(0);
  EXPECT_EQ(got.model, r.model);
  EXPECT_EQ(got.prompt, r.prompt);
  EXPECT_TRUE(got.raw);
  EXPECT_EQ(got.sampling.temperature, 0.75F);
  EXPECT_EQ(got.sampling.seed, r.sampling.seed);
  EXPECT_EQ(got.sampling.tokens_max, 2U);
  EXPECT_TRUE(got.sampling.ignore_end);
  EXPECT_EQ(got.sampling.top_k, 40U);
  EXPECT_EQ(got.sampling.top_p, 0.5F);
  EXPECT_EQ(got.sampling.min_p, 0.25F);
  EXPECT_EQ(got.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(got.sampling.tokens_min, 1U);
  EXPECT_EQ(got.sampling.stop_ids, r.sampling.stop_ids);
  EXPECT_EQ(got.sampling.top_logprobs, 20U);
  EXPECT_EQ(got.stop_strings, r.stop_strings);
  EXPECT_EQ(got.reply_prefix, r.reply_prefix);
  EXPECT_EQ(got.priority, priority_class::batch);
  EXPECT_EQ(got.tenant, r.tenant);
  EXPECT_EQ(got.cache_salt, r.cache_salt);
  EXPECT_EQ(got.budget_us, r.budget_us);
}

TEST(rpc_client, brings_every_field_of_an_outcome) {
  generate_outcome sent;
  sent.reason = finish_reason::failed;
  sent.code = errc::peer_lost;
  sent.detail = "node d1 went away";
  sent.retry_after_us = 11;
  sent.exact = false;
  sent.usage = {1, 2, 3, 4, 5, 6};
  sent.timings = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  sent.placement = {"g", "p", "d", "mapped", 3};
  served s{[sent](const auto&, token_sink& sink) { sink.done(sent); }};
  auto got = s.connect()->generate(small_request(), {});
  ASSERT_TRUE(got) << got.err().text();
  EXPECT_EQ(got->reason, sent.reason);
  EXPECT_EQ(got->code, sent.code);
  EXPECT_EQ(got->detail, sent.detail);
  EXPECT_EQ(got->retry_after_us, 11U);
  EXPECT_FALSE(got->exact);
  EXPECT_EQ(std::memcmp(&got->usage, &sent.usage, sizeof sent.usage), 0);
  EXPECT_EQ(std::memcmp(&got->timings, &sent.timings, sizeof sent.timings), 0);
  EXPECT_EQ(got->placement.gateway, "g");
  EXPECT_EQ(got->placement.prefill, "p");
  EXPECT_EQ(got->placement.decode, "d");
  EXPECT_EQ(got->placement.transport, "mapped");
  EXPECT_EQ(got->placement.attempts, 3U);
}

TEST(rpc_client, gets_tokens_in_order_and_gathered) {
  served s{finish_after_numbers};
  reply got;
  auto outcome = s.connect()->generate(small_request(1000), got.handler());
  ASSERT_TRUE(outcome) << outcome.err().text();
  EXPECT_EQ(outcome->reason, finish_reason::length);
  ASSERT_EQ(got.tokens.size(), 1000U);
  std::string text;
  for (uint32_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(got.tokens[i].id, i);
    EXPECT_EQ(got.tokens[i].logprob, -static_cast<float>(i));
    text += std::to_string(i) + " ";
  }
  EXPECT_EQ(got.text, text);
  EXPECT_EQ(got.calls, 1U); // All were pushed before the loop could send.
}

TEST(rpc_client, gets_tokens_while_the_request_runs) {
  served s;
  auto client = s.connect();
  std::atomic<uint32_t> seen{0};
  auto outcome = std::async(std::launch::async, [&] {
    return client->generate(small_request(), [&](auto tokens, auto /*text*/) {
      seen += static_cast<uint32_t>(tokens.size());
      seen.notify_all();
      return true;
    });
  });
  auto sink = s.service.wait_for_request();
  ASSERT_NE(sink, nullptr);
  for (uint32_t i = 0; i < 5; ++i) {
    testing::push_numbers(*sink, 1);
    seen.wait(i); // Until this one has come: nothing waits for the end.
  }
  sink->done(testing::ending(finish_reason::stop));
  EXPECT_EQ(outcome.get()->reason, finish_reason::stop);
  EXPECT_TRUE(s.service.cancelled().empty());
}

TEST(rpc_client, many_requests_share_one_connection_and_several_connections_one_server) {
  served s{finish_after_numbers};
  auto one = s.connect();
  auto two = s.connect();
  std::vector<std::future<size_t>> counts;
  for (uint32_t i = 0; i < 16; ++i)
    counts.push_back(std::async(std::launch::async, [&, i] {
      reply got;
      auto outcome = (i % 2 == 0 ? one : two)->generate(small_request(i + 1), got.handler());
      return outcome ? got.tokens.size() : 0;
    }));
  for (uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(counts[i].get(), i + 1);
}

TEST(rpc_client, started_requests_run_at_once_and_a_handler_may_start_the_next) {
  served s{finish_after_numbers};
  auto client = s.connect();
  std::promise<void> all_ended;
  size_t sent = 0; // All three: the client's thread only.
  size_t tokens = 0;
  size_t ended = 0;
  std::function<void()> start = [&] {
    client->start(small_request(8), {[&] { ++sent; },
                                     [&](auto ids, auto) {
                                       tokens += ids.size();
                                       return true;
                                     },
                                     [&](result<generate_outcome> outcome) {
                                       EXPECT_TRUE(outcome && outcome->code == errc::ok);
                                       if (++ended <= 8)
                                         start();
                                       if (ended == 16)
                                         all_ended.set_value();
                                     }});
  };
  for (int i = 0; i < 8; ++i)
    start();
  ASSERT_EQ(all_ended.get_future().wait_for(20s), std::future_status::ready);
  client.reset(); // Its thread has ended: what it wrote can be read.
  EXPECT_EQ(sent, 16U);
  EXPECT_EQ(tokens, 128U);
  EXPECT_EQ(ended, 16U);
}

TEST(rpc_client, a_started_request_that_is_wrong_or_lost_ends_too) {
  auto s = std::make_unique<served>();
  auto client = s->connect();
  std::promise<generate_outcome> refused;
  client->start(small_request(0),
                {{}, {}, [&](result<generate_outcome> outcome) { refused.set_value(*outcome); }});
  EXPECT_EQ(refused.get_future().get().code, errc::invalid_argument);
  std::promise<result<generate_outcome>> lost;
  client->start(small_request(8), {{}, {}, [&](result<generate_outcome> outcome) {
                                     lost.set_value(std::move(outcome));
                                   }});
  ASSERT_NE(s->service.wait_for_request(), nullptr);
  s.reset();
  auto ending = lost.get_future().get();
  EXPECT_TRUE(!ending || ending->code == errc::unavailable);
}

TEST(rpc_client, a_handler_that_says_no_cancels) {
  served s;
  auto client = s.connect();
  auto outcome = std::async(std::launch::async, [&] {
    return client->generate(small_request(), [](auto /*tokens*/, auto /*text*/) { return false; });
  });
  auto sink = s.service.wait_for_request();
  ASSERT_NE(sink, nullptr);
  testing::push_numbers(*sink, 1);
  ASSERT_TRUE(s.service.wait_for_cancel());
  sink->done(testing::ending(finish_reason::cancelled, errc::cancelled));
  auto got = outcome.get();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->reason, finish_reason::cancelled);
  EXPECT_EQ(s.service.cancelled(), std::vector<request_id>{1});
}

TEST(rpc_client, cancel_from_another_thread_ends_every_running_request) {
  served s;
  auto client = s.connect();
  auto run = [&] { return client->generate(small_request(), {}); };
  auto one = std::async(std::launch::async, run);
  auto two = std::async(std::launch::async, run);
  ASSERT_NE(s.service.wait_for_request(2), nullptr);
  client->cancel();
  ASSERT_TRUE(s.service.wait_for_cancel(2));
  for (size_t id : {1, 2})
    s.service.wait_for_request(id)->done(
      testing::ending(finish_reason::cancelled, errc::cancelled));
  EXPECT_EQ(one.get()->reason, finish_reason::cancelled);
  EXPECT_EQ(two.get()->reason, finish_reason::cancelled);
}

TEST(rpc_client, gives_up_when_the_gateway_keeps_silent_past_the_budget) {
  served s;
  auto request = small_request();
  request.budget_us = 1;
  auto outcome = s.connect()->generate(request, {});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.err().code, errc::deadline_exceeded);
  EXPECT_TRUE(s.service.wait_for_cancel());
}

TEST(rpc_client, a_server_that_stops_leaves_unavailable) {
  served s;
  auto client = s.connect();
  auto outcome
    = std::async(std::launch::async, [&] { return client->generate(small_request(), {}); });
  auto sink = s.service.wait_for_request();
  ASSERT_NE(sink, nullptr);
  s.server.stop();
  auto got = outcome.get();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.err().code, errc::unavailable);
  EXPECT_THAT(got.err().detail, HasSubstr(s.address));
  EXPECT_EQ(s.service.cancelled(), std::vector<request_id>{1});
  testing::push_numbers(*sink, 1); // The service may be late; nobody minds.
  sink->done(testing::ending(finish_reason::cancelled, errc::cancelled));
  auto later = client->generate(small_request(), {});
  ASSERT_FALSE(later);
  EXPECT_EQ(later.err().code, errc::unavailable);
  EXPECT_EQ(client->info().err().code, errc::unavailable);
}

TEST(rpc_client, refuses_a_bad_request_itself) {
  served s;
  const std::vector<std::pair<const char*, void (*)(generate_request&)>> wrong{
    {"temperature", [](generate_request& r) { r.sampling.temperature = 11.0F; }},
    {"top_p", [](generate_request& r) { r.sampling.top_p = 0.0F; }},
    {"top_p", [](generate_request& r) { r.sampling.top_p = 1.1F; }},
    {"min_p", [](generate_request& r) { r.sampling.min_p = -0.1F; }},
    {"repetition_penalty", [](generate_request& r) { r.sampling.repetition_penalty = 0.0F; }},
    {"repetition_penalty", [](generate_request& r) { r.sampling.repetition_penalty = 10.5F; }},
    {"tokens_min", [](generate_request& r) { r.sampling.tokens_min = 2000; }},
    {"stop_ids", [](generate_request& r) { r.sampling.stop_ids.resize(65); }},
    {"stop_strings", [](generate_request& r) { r.stop_strings.resize(17, "x"); }},
    {"stop_strings", [](generate_request& r) { r.stop_strings = {std::string(257, 'x')}; }},
    {"stop_strings",
     [](generate_request& r) {
       r.stop_strings = {"x", ""};
     }},
  };
  for (const auto& [field, spoil] : wrong) {
    auto request = small_request();
    spoil(request);
    auto outcome = s.connect()->generate(request, {});
    ASSERT_TRUE(outcome);
    EXPECT_EQ(outcome->reason, finish_reason::refused);
    EXPECT_EQ(outcome->code, errc::invalid_argument);
    EXPECT_THAT(outcome->detail, HasSubstr(field));
  }
  EXPECT_TRUE(s.service.requests().empty());
}

TEST(rpc_client, says_so_if_nobody_listens) {
  std::string address;
  {
    served s;
    address = s.address;
  }
  auto client = rpc_client::connect(address, 120ms);
  ASSERT_FALSE(client);
  EXPECT_EQ(client.err().code, errc::unavailable);
  EXPECT_THAT(client.err().detail, HasSubstr(address));
  EXPECT_THAT(client.err().detail, HasSubstr("Connection refused"));
}

TEST(rpc_client, waits_for_a_server_that_is_still_starting) {
  std::string address = "unix:/tmp/penstock-rpc-late-" + std::to_string(::getpid());
  auto client = std::async(std::launch::async, [&] { return rpc_client::connect(address, 20s); });
  fake_service service;
  rpc_server server{service, {.address = address}};
  ASSERT_TRUE(server.start());
  auto got = client.get();
  ASSERT_TRUE(got) << got.err().text();
  EXPECT_TRUE((*got)->info());
}

TEST(rpc_client, refuses_addresses_that_are_none) {
  for (const auto* address : {"", "nohost", ":7600", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:70000",
                              "::1:7600", "unix:", "unix:relative"}) {
    auto client = rpc_client::connect(address, 10s);
    ASSERT_FALSE(client) << address;
    EXPECT_EQ(client.err().code, errc::invalid_argument) << address;
    EXPECT_THAT(client.err().detail, HasSubstr("unix:/path"));
  }
}

} // namespace
} // namespace penstock::schema
