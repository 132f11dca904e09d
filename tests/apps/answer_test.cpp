#include "apps/answer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <bit>
#include <limits>

namespace penstock::apps {
namespace {

using nlohmann::json;
using testing::HasSubstr;

answer sample() {
  answer a;
  a.tokens = {{7, -0.25F}, {80, -1.1F}};
  a.text = "caf\xC3\xA9";
  a.outcome.reason = finish_reason::stop;
  a.outcome.usage = {5, 2, 1, 4, 3, 2};
  a.outcome.timings.prefill_us = 2'000'000;
  a.outcome.timings.transfer_bytes = 2048;
  a.outcome.placement = {"g0", "p0", "d0", "mapped", 1};
  a.arrivals_us = {100, 300};
  return a;
}

TEST(answer, prints_one_line_with_everything_the_contract_names) {
  auto text = to_json(sample());
  EXPECT_EQ(text.find('\n'), std::string::npos);
  auto j = json::parse(text);
  EXPECT_EQ(j["token_ids"], json({7, 80}));
  EXPECT_EQ(j["logprobs"].size(), 2U);
  EXPECT_EQ(j["text"], "caf\xC3\xA9");
  EXPECT_EQ(j["finish_reason"], "stop");
  EXPECT_EQ(j["usage"]["prompt_tokens"], 5);
  EXPECT_EQ(j["usage"]["completion_tokens"], 2);
  EXPECT_EQ(j["usage"]["cached_tokens"], 1);
  EXPECT_EQ(j["usage"]["computed_tokens"], 4);
  EXPECT_EQ(j["usage"]["transferred_tokens"], 3);
  EXPECT_EQ(j["usage"]["recomputed_tokens"], 2);
  EXPECT_EQ(j["timings"]["prefill_us"], 2'000'000);
  EXPECT_EQ(j["placement"]["transport"], "mapped");
  EXPECT_FALSE(j.contains("error"));
}

TEST(answer, keeps_every_bit_of_a_logprob) {
  auto a = sample();
  a.tokens.clear();
  for (uint32_t bits : {0xBF800001U, 0x80000001U, 0xC2FFFFFFU, 0xBEAAAAABU})
    a.tokens.push_back({1, std::bit_cast<float>(bits)});
  auto j = json::parse(to_json(a));
  for (size_t i = 0; i < a.tokens.size(); ++i)
    EXPECT_EQ(std::bit_cast<uint32_t>(j["logprobs"][i].get<float>()),
              std::bit_cast<uint32_t>(a.tokens[i].logprob));
}

TEST(answer, names_the_likeliest_tokens_if_there_are_any) {
  auto a = sample();
  EXPECT_FALSE(json::parse(to_json(a)).contains("top_logprobs"));
  a.tokens[0].top = {{7, -0.25F}, {9, -3.0F}};
  a.tokens[1].top = {{2, -0.5F}, {80, -1.0F}};
  auto j = json::parse(to_json(a))["top_logprobs"];
  ASSERT_EQ(j.size(), 2U);
  EXPECT_EQ(j[0], json::parse(R"([{"id":7,"logprob":-0.25},{"id":9,"logprob":-3.0}])"));
  EXPECT_EQ(j[1][0]["id"], 2);
}

TEST(answer, survives_what_a_model_may_produce) {
  auto a = sample();
  a.text = "\xFF\xFE broken";
  a.tokens[0].logprob = -std::numeric_limits<float>::infinity();
  auto j = json::parse(to_json(a));
  EXPECT_TRUE(j["logprobs"][0].is_null());
}

TEST(answer, names_the_error_of_a_refusal) {
  answer a;
  a.outcome.reason = finish_reason::refused;
  a.outcome.code = errc::overloaded;
  a.outcome.detail = "full";
  a.outcome.retry_after_us = 5;
  auto j = json::parse(to_json(a));
  EXPECT_EQ(j["finish_reason"], "refused");
  EXPECT_EQ(j["error"]["code"], "overloaded");
  EXPECT_EQ(j["error"]["detail"], "full");
  EXPECT_EQ(j["error"]["retry_after_us"], 5);
  EXPECT_EQ(j["token_ids"], json::array());
}

TEST(answer, tells_success_from_the_rest) {
  generate_outcome o;
  for (auto reason : {finish_reason::stop, finish_reason::length}) {
    o.reason = reason;
    EXPECT_TRUE(succeeded(o));
  }
  for (auto reason : {finish_reason::cancelled, finish_reason::deadline, finish_reason::blocked,
                      finish_reason::refused, finish_reason::failed}) {
    o.reason = reason;
    EXPECT_FALSE(succeeded(o));
  }
}

TEST(answer, table_names_every_stage_with_rates) {
  auto table = stage_table(sample());
  for (const char* stage :
       {"admission", "guardrail", "queue", "prefill", "KV transfer", "TTFT", "ITL", "total"})
    EXPECT_THAT(table, HasSubstr(stage));
  EXPECT_THAT(table, HasSubstr("2 tokens/s on p0"));
  EXPECT_THAT(table, HasSubstr("2.0 KiB over mapped to d0"));
  EXPECT_THAT(table, HasSubstr("mean 200 us"));
}

TEST(answer, table_of_nothing_has_no_rates) {
  EXPECT_THAT(stage_table(answer{}), HasSubstr("-"));
}

} // namespace
} // namespace penstock::apps
