#include "apps/bench/workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::apps::bench {
namespace {

using ids = std::vector<token_id>;

size_t common_prefix(const ids& a, const ids& b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first
                             - a.begin());
}

TEST(workload, synthetic_prompts_share_their_prefix_and_nothing_else) {
  workload w{synthetic_prompts{100, 40, 8}, {.seed = 3, .vocabulary = 256, .context = 1024}};
  auto first = w.make(0).request.prompt_ids;
  for (uint64_t i = 1; i < 50; ++i) {
    auto other = w.make(i);
    ASSERT_EQ(other.request.prompt_ids.size(), 100U);
    auto common = common_prefix(first, other.request.prompt_ids);
    EXPECT_GE(common, 40U);
    EXPECT_LT(common, 45U); // A few ids may be equal by chance.
    for (auto id : other.request.prompt_ids)
      EXPECT_LT(id, 256U);
  }
}

TEST(workload, asks_for_answers_of_an_exact_length) {
  workload w{synthetic_prompts{10, 0, 33},
             {.seed = 1, .vocabulary = 256, .context = 1024, .budget_us = 5}};
  auto r = w.make(9);
  EXPECT_EQ(r.output_tokens, 33U);
  EXPECT_EQ(r.request.sampling.tokens_max, 33U);
  EXPECT_TRUE(r.request.sampling.ignore_end);
  EXPECT_EQ(r.request.budget_us, 5U);
  EXPECT_FALSE(r.cut);
}

TEST(workload, is_a_function_of_seed_and_index) {
  workload_options o{.seed = 3, .vocabulary = 1000, .context = 1024};
  workload a{synthetic_prompts{}, o};
  workload b{synthetic_prompts{}, o};
  EXPECT_EQ(a.make(7).request.prompt_ids, b.make(7).request.prompt_ids);
  EXPECT_NE(a.make(7).request.prompt_ids, a.make(8).request.prompt_ids);
  o.seed = 4;
  workload c{synthetic_prompts{}, o};
  EXPECT_NE(a.make(7).request.prompt_ids, c.make(7).request.prompt_ids);
}

TEST(workload, cuts_what_the_context_does_not_hold_and_says_so) {
  workload_options o{.seed = 1, .vocabulary = 256, .context = 64};
  auto answer = workload{synthetic_prompts{60, 0, 9}, o}.make(0);
  EXPECT_EQ(answer.prompt_tokens, 60U);
  EXPECT_EQ(answer.output_tokens, 4U);
  EXPECT_TRUE(answer.cut);
  auto prompt = workload{synthetic_prompts{500, 500, 9}, o}.make(0);
  EXPECT_EQ(prompt.request.prompt_ids.size(), 63U);
  EXPECT_EQ(prompt.output_tokens, 1U);
  EXPECT_TRUE(prompt.cut);
}

TEST(workload, of_a_trace_has_its_lengths_scaled_and_its_equal_blocks_equal) {
  traced_prompts t{{{0, 1024, 100, {5, 6}}, {1, 1024, 0, {5, 7}}, {2, 700, 10, {}}}, 0.125};
  workload w{t, {.seed = 1, .vocabulary = 256, .context = 1024}};
  auto a = w.make(0);
  auto b = w.make(1);
  EXPECT_EQ(a.prompt_tokens, 128U);
  EXPECT_EQ(a.request.prompt_ids.size(), 128U);
  EXPECT_EQ(a.output_tokens, 13U);
  EXPECT_EQ(b.output_tokens, 1U); // None cannot be asked for.
  auto common = common_prefix(a.request.prompt_ids, b.request.prompt_ids);
  EXPECT_GE(common, 64U);
  EXPECT_LT(common, 70U);
  EXPECT_EQ(w.make(2).request.prompt_ids.size(), 88U);
  EXPECT_EQ(w.make(3).request.prompt_ids, a.request.prompt_ids); // Begun again.
}

TEST(workload, sends_texts_in_turns) {
  auto lines = prompts_in("one\r\n\ntwo\nthree", "p.txt");
  ASSERT_TRUE(lines) << lines.err().text();
  EXPECT_EQ(*lines, (std::vector<std::string>{"one", "two", "three"}));
  workload w{text_prompts{*lines, 5}, {.context = 64}};
  EXPECT_EQ(w.make(4).request.prompt, "two");
  EXPECT_EQ(w.make(4).prompt_tokens, 0U);
  EXPECT_EQ(w.make(4).output_tokens, 5U);
  EXPECT_FALSE(prompts_in("\n\n", "p.txt"));
}

} // namespace
} // namespace penstock::apps::bench
