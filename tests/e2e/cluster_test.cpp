// The three-process cluster gives what one undisturbed process gives, bit for bit, over every
// transport; and refuses at the door what it cannot do.
#include "cluster.hpp"
#include "goldens.hpp"

#include <gtest/gtest.h>

namespace penstock::e2e {
namespace {

using nlohmann::json;

const char* const long_prompt
  = "Well, Prince, so Genoa and Lucca are now just family estates of the Buonapartes. But I warn "
    "you, if you do not tell me that this means war, if you still try to defend the infamies and "
    "horrors perpetrated by that Antichrist I really believe he is Antichrist I will have nothing "
    "more to do with you and you are no longer my friend, no longer my faithful slave.";

class over : public testing::TestWithParam<const char*> {};

TEST_P(over, answers_bit_for_bit_as_one_process_does) {
  cluster c{{.transport = GetParam()}};
  for (const auto& arguments : std::vector<std::vector<std::string>>{
         {"--max-tokens", "24", "--", "The old prince"},
         {"--max-tokens", "24", "--", long_prompt},
         {"--max-tokens", "1", "--", long_prompt},
         {"--max-tokens", "24", "--raw", "--", "The old prince"},
         {"--max-tokens", "24", "--temperature", "0.9", "--seed", "11", "--", long_prompt},
         {"--max-tokens", "24", "--temperature", "0.8", "--top-p", "0.9", "--top-k", "40",
          "--min-p", "0.02", "--seed", "3", "--", long_prompt},
         {"--max-tokens", "40", "--temperature", "0.8", "--top-p", "0.9", "--top-k", "40",
          "--repetition-penalty", "1.1", "--seed", "3", "--", long_prompt},
         {"--max-tokens", "40", "--repetition-penalty", "1.3", "--", long_prompt},
         {"--max-tokens", "40", "--min-tokens", "12", "--stop-id", "5", "--stop-id", "80", "--",
          long_prompt},
         {"--max-tokens", "8", "--prompt-ids", "5"},
       }) {
    auto got = c.ask(arguments);
    auto expected = oracle("builtin", arguments);
    EXPECT_EQ(fingerprint(got), fingerprint(expected)) << got;
    EXPECT_EQ(got["text"], expected["text"]);
    EXPECT_EQ(got["usage"]["prompt_tokens"], expected["usage"]["prompt_tokens"]);
    EXPECT_EQ(got["usage"]["computed_tokens"].get<int>() + got["usage"]["cached_tokens"].get<int>(),
              got["usage"]["prompt_tokens"].get<int>());
    EXPECT_TRUE(got["exact"]);
  }
  EXPECT_EQ(c.stop(), 0);
}

TEST_P(over, a_prompt_seen_before_is_not_computed_again_and_answers_the_same) {
  cluster c{{.transport = GetParam()}};
  std::vector<std::string> again{"--max-tokens", "24", "--", long_prompt};
  auto longer = std::string{long_prompt} + " But how do you do?";
  auto first = c.ask(again);
  EXPECT_EQ(first["usage"]["cached_tokens"], 0);
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{again, {"--max-tokens", "24", "--", longer}}) {
    auto hit = c.ask(arguments);
    EXPECT_EQ(fingerprint(hit), fingerprint(oracle("builtin", arguments))) << hit;
    EXPECT_GT(hit["usage"]["cached_tokens"].get<int>(), 32);
    EXPECT_LT(hit["timings"]["transfer_bytes"], first["timings"]["transfer_bytes"]);
    EXPECT_EQ(hit["usage"]["computed_tokens"].get<int>() + hit["usage"]["cached_tokens"].get<int>(),
              hit["usage"]["prompt_tokens"].get<int>());
  }
}

TEST_P(over, says_how_the_kv_moved_and_who_served) {
  cluster c{{.transport = GetParam()}};
  auto a = c.ask({"--max-tokens", "4", "--", long_prompt});
  EXPECT_EQ(a["placement"]["transport"], GetParam());
  EXPECT_EQ(a["placement"]["gateway"], "g0");
  EXPECT_EQ(a["placement"]["prefill"], "p0");
  EXPECT_EQ(a["placement"]["decode"], "d0");
  EXPECT_GT(a["timings"]["transfer_bytes"].get<int>(), 0);
  EXPECT_GT(a["usage"]["transferred_tokens"].get<int>(), 0);
  EXPECT_GT(a["timings"]["ttft_us"].get<int>(), 0);
}

TEST_P(over, reproduces_the_goldens) {
  if (tinystories().empty())
    GTEST_SKIP() << "no models in " << PENSTOCK_SHARED_DIR;
  auto cases = golden_cases();
  ASSERT_FALSE(cases.empty());
  cluster c{{.model = tinystories(), .transport = GetParam()}};
  for (const auto& g : cases) {
    auto a = c.ask({"--prompt-ids", g.prompt_ids, "--max-tokens", g.tokens_max});
    EXPECT_EQ(a["token_ids"], json(g.generated)) << g.prompt;
    EXPECT_EQ(a["finish_reason"], g.stops ? "stop" : "length");
  }
}

INSTANTIATE_TEST_SUITE_P(transport, over, testing::Values("mapped", "tcp;ofi_rxm"),
                         [](const auto& each) {
                           return std::string{each.param[0] == 'm' ? "mapped" : "tcp"};
                         });

TEST(cluster, refuses_with_the_reasons_one_process_gives) {
  cluster c;
  std::string many(size_t{64} << 10U, 'a');
  for (const auto& arguments : std::vector<std::vector<std::string>>{
         {"--", ""},
         {"--raw", "--", ""},
         {"--max-tokens", "0", "--", "x"},
         {"--temperature", "-1", "--", "x"},
         {"--top-p", "0", "--", "x"},
         {"--min-p", "1.5", "--", "x"},
         {"--repetition-penalty", "0", "--", "x"},
         {"--min-tokens", "9", "--max-tokens", "8", "--", "x"},
         {"--stop-id", "4000000000", "--", "x"},
         {"--stop", "", "--", "x"},
         {"--stop", "\xC3", "--", "x"},
         {"--stop", std::string(257, 'x'), "--", "x"},
         {"--prompt-ids", "4000000000"},
         {"--", many},
       }) {
    auto a = c.ask(arguments);
    EXPECT_EQ(a["error"]["code"], oracle("builtin", arguments)["error"]["code"]) << a;
    EXPECT_EQ(a["finish_reason"], "refused");
    EXPECT_NE(a["error"]["detail"], "");
    EXPECT_EQ(a["exit_code"], 1);
  }
  auto no_budget = c.ask({"--budget-ms", "0", "--", "x"});
  EXPECT_EQ(no_budget["finish_reason"], "refused") << no_budget;
  EXPECT_NE(no_budget["error"]["detail"], "");
  auto unknown = c.ask({"--model", "gpt-none", "--", "x"});
  EXPECT_EQ(unknown["error"]["code"], "unknown_model") << unknown;
  EXPECT_EQ(c.ask({"--max-tokens", "1", "--", "x"})["exit_code"], 0);
}

TEST(cluster, ends_before_a_stop_string_as_one_process_does) {
  cluster c;
  auto text
    = oracle("builtin", {"--max-tokens", "40", "--", long_prompt})["text"].get<std::string>();
  ASSERT_GT(text.size(), 20U);
  for (const auto& stop : {text.substr(12, 5), text.substr(text.size() - 3), text.substr(0, 1),
                           std::string{"never in it"}}) {
    std::vector<std::string> arguments{"--max-tokens", "40", "--stop", stop, "--", long_prompt};
    auto got = c.ask(arguments);
    auto expected = oracle("builtin", arguments);
    EXPECT_EQ(fingerprint(got), fingerprint(expected)) << got;
    EXPECT_EQ(got["text"], text.substr(0, text.find(stop))) << stop;
    EXPECT_EQ(expected["text"], got["text"]);
    EXPECT_EQ(got["finish_reason"], expected["finish_reason"]);
    EXPECT_EQ(got["finish_reason"] == "stop", text.find(stop) != std::string::npos);
    EXPECT_EQ(got["usage"]["completion_tokens"], got["token_ids"].size());
  }
}

TEST(cluster, refuses_one_token_over_the_context_and_takes_one_less) {
  if (tinystories().empty())
    GTEST_SKIP() << "no models in " << PENSTOCK_SHARED_DIR;
  cluster c{{.model = tinystories()}};
  std::string ids;
  for (int i = 0; i < 511; ++i)
    ids += "80,";
  auto fits = c.ask({"--ignore-end", "--prompt-ids", ids});
  EXPECT_EQ(fits["token_ids"].size(), 1U) << fits;
  EXPECT_EQ(fits["finish_reason"], "length");
  EXPECT_EQ(c.ask({"--prompt-ids", ids + "80"})["error"]["code"], "prompt_too_long");
}

TEST(cluster, streams_text_to_stdout_and_the_stages_to_stderr) {
  cluster c;
  auto f = run(c.ask_command({"--max-tokens", "8", "--", "The old prince"}));
  EXPECT_EQ(f.exit_code, 0);
  auto text = oracle("builtin", {"--max-tokens", "8", "--", "The old prince"})["text"];
  EXPECT_EQ(f.out, text.get<std::string>() + "\n");
  EXPECT_NE(f.err.find("KV transfer"), std::string::npos) << f.err;
}

TEST(cluster, blocks_what_a_guardrail_rule_forbids) {
  cluster c{{.more = "[[guardrail.rule]]\nname = \"no-cannon\"\npattern = \"(?i)cannon\"\n"}};
  auto a = c.ask({"--", "Fire the Cannon"});
  EXPECT_EQ(a["finish_reason"], "blocked") << a;
  EXPECT_NE(a["error"]["detail"].get<std::string>().find("no-cannon"), std::string::npos);
  EXPECT_EQ(a["token_ids"].size(), 0U);
  EXPECT_EQ(c.ask({"--max-tokens", "2", "--", "Fire the gun"})["exit_code"], 0);
}

TEST(ask, without_a_cluster_fails_with_one_sentence) {
  auto f = run({penstock(), "ask", "--address", "127.0.0.1:1", "--", "x"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_NE(f.err.find("127.0.0.1:1"), std::string::npos) << f.err;
}

} // namespace
} // namespace penstock::e2e
