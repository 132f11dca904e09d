// How tokens reach a client: what comes with them, and in what portions.
#include "served.hpp"

namespace penstock::schema {
namespace {

using testing::reply;
using testing::served;
using testing::small_request;

TEST(rpc_pushes, bring_the_likeliest_tokens_of_each) {
  std::vector<generated_token> sent{{7, -0.5F, {{7, -0.5F}, {9, -1.5F}}},
                                    {8, -2.5F, {{4, -0.1F}, {8, -2.5F}}}};
  served s{[&sent](const auto&, token_sink& sink) {
    sink.push(sent, "ab");
    sink.done(testing::ending(finish_reason::length));
  }};
  reply got;
  ASSERT_TRUE(s.connect()->generate(small_request(), got.handler()));
  ASSERT_EQ(got.tokens.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got.tokens[i].id, sent[i].id);
    ASSERT_EQ(got.tokens[i].top.size(), 2U);
    for (size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(got.tokens[i].top[k].id, sent[i].top[k].id);
      EXPECT_EQ(got.tokens[i].top[k].logprob, sent[i].top[k].logprob);
    }
  }
}

TEST(rpc_pushes, much_that_gathered_comes_in_several_pushes_in_order) {
  constexpr uint32_t count = 80'000; // With 20 others each, about 13 MB.
  std::vector<generated_token> sent(count);
  for (uint32_t i = 0; i < count; ++i)
    sent[i] = {i, -1.0F, std::vector<token_logprob>(20, {i, -2.0F})};
  served s{[&sent](const auto&, token_sink& sink) {
    sink.push(sent, "text");
    sink.done(testing::ending(finish_reason::length));
  }};
  reply got;
  auto outcome = s.connect()->generate(small_request(count), got.handler());
  ASSERT_TRUE(outcome) << outcome.err().text();
  EXPECT_GT(got.calls, 2U);
  EXPECT_EQ(got.text, "text");
  ASSERT_EQ(got.tokens.size(), count);
  for (uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(got.tokens[i].id, i);
    ASSERT_EQ(got.tokens[i].top.size(), 20U);
    ASSERT_EQ(got.tokens[i].top.back().id, i);
  }
}

} // namespace
} // namespace penstock::schema
