// `penstock run` and `tokenize` as scripts use them: the oracle, its contract, its refusals.
#include "cluster.hpp"
#include "goldens.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

namespace penstock::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json run_builtin(std::vector<std::string> arguments) {
  return oracle("builtin", std::move(arguments));
}

TEST(run, reproduces_the_goldens_from_ids_and_from_text) {
  if (tinystories().empty())
    GTEST_SKIP() << "no models in " << PENSTOCK_SHARED_DIR;
  auto cases = golden_cases();
  ASSERT_FALSE(cases.empty());
  for (const auto& c : cases) {
    auto a = oracle(tinystories(), {"--prompt-ids", c.prompt_ids, "--max-tokens", c.tokens_max});
    EXPECT_EQ(a["token_ids"], json(c.generated)) << c.prompt;
    EXPECT_EQ(a["finish_reason"], c.stops ? "stop" : "length");
    if (c.prompt.empty())
      continue; // A text without a character is refused; its ids are not.
    auto b = oracle(tinystories(), {"--max-tokens", c.tokens_max, "--", c.prompt});
    EXPECT_EQ(fingerprint(a), fingerprint(b)) << c.prompt;
    EXPECT_EQ(a["text"], b["text"]);
  }
}

TEST(run, gives_the_same_bits_for_every_chunk_thread_and_block_size) {
  std::vector<std::string> prompt{"--max-tokens", "12", "--", "It was in the year of the war that"};
  auto with = [&prompt](std::vector<std::string> options) {
    options.insert(options.end(), prompt.begin(), prompt.end());
    return fingerprint(run_builtin(options));
  };
  auto expected = with({});
  for (const char* chunk : {"1", "7", "64"})
    EXPECT_EQ(with({"--chunk", chunk}), expected) << "chunk " << chunk;
  EXPECT_EQ(with({"--threads", "2"}), expected);
  EXPECT_EQ(with({"--block-tokens", "64"}), expected);
}

TEST(run, with_a_seed_repeats_itself_and_with_another_does_not) {
  auto with_seed = [](const char* seed) {
    return fingerprint(run_builtin(
      {"--temperature", "1", "--seed", seed, "--max-tokens", "24", "--", "The old prince"}));
  };
  EXPECT_EQ(with_seed("7"), with_seed("7"));
  EXPECT_NE(with_seed("7"), with_seed("8"));
}

TEST(run, draws_from_fewer_tokens_when_told) {
  auto with = [](std::vector<std::string> options) {
    for (const char* more : {"--max-tokens", "24", "--ignore-end", "--", "The old prince"})
      options.emplace_back(more);
    return fingerprint(run_builtin(options));
  };
  auto greedy = with({});
  auto free = with({"--temperature", "1.5", "--seed", "4"});
  ASSERT_NE(free, greedy);
  EXPECT_EQ(with({"--temperature", "1.5", "--seed", "4", "--top-k", "1"}), greedy);
  EXPECT_EQ(with({"--temperature", "1.5", "--seed", "4", "--top-p", "1e-6"}), greedy);
  EXPECT_EQ(with({"--temperature", "1.5", "--seed", "4", "--min-p", "1"}), greedy);
  EXPECT_NE(with({"--temperature", "1.5", "--seed", "4", "--top-k", "3"}), free);
  EXPECT_EQ(with({"--top-k", "3", "--top-p", "0.5", "--min-p", "0.5"}), greedy);
}

TEST(run, stops_at_a_stop_id_but_not_before_min_tokens) {
  std::vector<std::string> base{"--max-tokens", "24", "--ignore-end", "--", "The old prince"};
  auto with = [&base](std::vector<std::string> options) {
    options.insert(options.end(), base.begin(), base.end());
    return run_builtin(options);
  };
  auto free = with({});
  auto fifth = free["token_ids"][5].get<int>();
  auto stopped = with({"--stop-id", std::to_string(fifth)});
  EXPECT_EQ(stopped["finish_reason"], "stop");
  EXPECT_LE(stopped["token_ids"].size(), 5U);
  for (const auto& id : stopped["token_ids"])
    EXPECT_NE(id, fifth);
  auto longer = with({"--stop-id", std::to_string(fifth), "--min-tokens", "10"});
  EXPECT_GE(longer["token_ids"].size(), 10U);
  for (const auto& id : longer["token_ids"])
    EXPECT_NE(id, fifth);
}

TEST(run, a_repetition_penalty_makes_repeats_rarer) {
  auto distinct = [](const char* penalty) {
    auto a = run_builtin({"--repetition-penalty", penalty, "--max-tokens", "60", "--ignore-end",
                          "--", "The old prince"});
    auto ids = a["token_ids"].get<std::set<int>>();
    return ids.size();
  };
  EXPECT_GT(distinct("2"), distinct("1"));
}

TEST(run, counts_tokens_as_the_contract_says) {
  auto a = run_builtin({"--max-tokens", "5", "--ignore-end", "--", "The old prince"});
  EXPECT_EQ(a["exit_code"], 0);
  EXPECT_EQ(a["token_ids"].size(), 5U);
  EXPECT_EQ(a["logprobs"].size(), 5U);
  EXPECT_EQ(a["finish_reason"], "length");
  EXPECT_EQ(a["usage"]["completion_tokens"], 5);
  EXPECT_EQ(a["usage"]["computed_tokens"].get<int>() + a["usage"]["cached_tokens"].get<int>(),
            a["usage"]["prompt_tokens"].get<int>());
  auto one = run_builtin({"--max-tokens", "1", "--ignore-end", "--", "The old prince"});
  EXPECT_EQ(one["token_ids"].size(), 1U);
  EXPECT_EQ(one["token_ids"][0], a["token_ids"][0]);
}

TEST(run, refuses_with_a_reason_and_exit_code_1) {
  struct refusal {
    std::vector<std::string> arguments;
    const char* code;
  };
  std::string many(size_t{64} << 10U, 'a');
  for (const auto& r : std::vector<refusal>{
         {{"--", ""}, "prompt_empty"},
         {{"--raw", "--", ""}, "prompt_empty"},
         {{"--max-tokens", "0", "--", "x"}, "invalid_argument"},
         {{"--temperature", "-1", "--", "x"}, "invalid_argument"},
         {{"--temperature", "nan", "--", "x"}, "invalid_argument"},
         {{"--top-p", "0", "--", "x"}, "invalid_argument"},
         {{"--min-p", "nan", "--", "x"}, "invalid_argument"},
         {{"--prompt-ids", "4000000000"}, "invalid_argument"},
         {{"--", many}, "prompt_too_long"},
       }) {
    auto a = run_builtin(r.arguments);
    EXPECT_EQ(a["error"]["code"], r.code) << a;
    EXPECT_NE(a["error"]["detail"], "");
    EXPECT_EQ(a["finish_reason"], "refused");
    EXPECT_EQ(a["exit_code"], 1);
  }
}

TEST(run, accepts_a_prompt_of_context_less_one_and_refuses_one_more) {
  if (tinystories().empty())
    GTEST_SKIP() << "no models in " << PENSTOCK_SHARED_DIR;
  std::string ids;
  for (int i = 0; i < 511; ++i)
    ids += "80,";
  auto fits = oracle(tinystories(), {"--ignore-end", "--prompt-ids", ids});
  EXPECT_EQ(fits["token_ids"].size(), 1U);
  EXPECT_EQ(fits["finish_reason"], "length");
  auto over = oracle(tinystories(), {"--prompt-ids", ids + "80"});
  EXPECT_EQ(over["error"]["code"], "prompt_too_long");
}

TEST(command_line, tells_bad_usage_with_exit_code_2) {
  using arguments = std::vector<std::string>;
  for (const auto& a : {arguments{},
                        {"nonsense"},
                        {"run", "--chunk", "0", "--", "x"},
                        {"run", "--bad", "x"},
                        {"run", "--top-k", "-1", "--", "x"},
                        {"run", "--model", "/nonexistent", "--", "x"},
                        {"run"},
                        {"ask", "--max-tokens", "x"},
                        {"check", "/nonexistent.toml"},
                        {"node"},
                        {"node", "nobody"},
                        {"run", "--prompt-ids", "1,x"}}) {
    auto argv = a;
    argv.insert(argv.begin(), penstock());
    auto f = e2e::run(argv);
    EXPECT_EQ(f.exit_code, 2) << testing::PrintToString(a) << f.out << f.err;
    EXPECT_NE(f.err + f.out, "");
  }
}

TEST(command_line, names_the_option_it_does_not_know_not_the_prompt) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
    {{"ask", "--nope", "a text"}, "penstock ask: unknown option \"--nope\""},
    {{"ask", "a text", "--nope"}, "penstock ask: unknown option \"--nope\""},
    {{"ask", "--nope=3", "a text"}, "penstock ask: unknown option \"--nope\""},
    {{"run", "--nope", "7", "--", "a text"}, "penstock run: unknown option \"--nope\""},
    {{"run", "-z", "a text"}, "penstock run: unknown option \"-z\""},
    {{"ask", "--top-logprob", "3", "x"}, "did you mean --top-logprobs?"},
    {{"ask", "Once", "upon"}, "penstock ask: unexpected argument \"upon\""},
    {{"ask", "--top-logprobs", "3", "--", "x"}, "--json"},
    {{"ask", "--priority", "high", "--", "x"}, "interactive"},
    {{"run", "--prompt-ids", "1", "--", "x"}, "not both"},
  };
  for (auto [argv, message] : cases) {
    argv.insert(argv.begin(), penstock());
    auto f = e2e::run(argv);
    EXPECT_EQ(f.exit_code, 2) << testing::PrintToString(argv);
    EXPECT_THAT(f.err, HasSubstr(message));
  }
}

TEST(command_line, has_help_with_examples_for_every_command) {
  for (const char* name : {"up", "node", "check", "ask", "run", "tokenize"}) {
    auto f = e2e::run({penstock(), name, "--help"});
    EXPECT_EQ(f.exit_code, 0);
    EXPECT_THAT(f.out, HasSubstr("Example")) << name;
  }
  EXPECT_EQ(e2e::run({penstock(), "--help"}).exit_code, 0);
  EXPECT_THAT(e2e::run({penstock(), "version"}).out, HasSubstr("penstock "));
}

TEST(command_line, takes_prompts_that_look_like_something_else) {
  auto ids_of = [](const std::string& text) {
    return json::parse(e2e::run({penstock(), "tokenize", "--json"}, text).out)["token_ids"].size();
  };
  for (const char* prompt : {"--help", "run", "-x", "[a, b]", "{}", "a=b", "%s %n"}) {
    auto a = run_builtin({"--max-tokens", "1", "--", prompt});
    ASSERT_TRUE(a.contains("usage")) << prompt;
    EXPECT_EQ(a["usage"]["prompt_tokens"], ids_of(prompt)) << prompt;
    auto b = e2e::run({penstock(), "run", "--json", "--max-tokens", "1", "-"}, prompt);
    EXPECT_EQ(fingerprint(json::parse(b.out)), fingerprint(a));
  }
}

TEST(tokenize, reproduces_the_goldens_from_stdin) {
  if (tinystories().empty())
    GTEST_SKIP() << "no models in " << PENSTOCK_SHARED_DIR;
  std::ifstream file(tinystories() + "/golden_encode.json");
  for (const auto& pair : json::parse(file)) {
    auto f = e2e::run({penstock(), "tokenize", "--json", "--model", tinystories()}, pair[0]);
    EXPECT_EQ(json::parse(f.out)["token_ids"], pair[1]) << pair[0];
    auto raw
      = e2e::run({penstock(), "tokenize", "--json", "--raw", "--model", tinystories()}, pair[0]);
    EXPECT_EQ(json::parse(raw.out)["token_ids"].size() + 1, pair[1].size());
  }
}

TEST(check, explains_and_plans) {
  auto plan = e2e::run({penstock(), "check"});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  for (const char* node : {"g0", "p0", "d0"})
    EXPECT_THAT(plan.out, HasSubstr(node));
  auto text = e2e::run({penstock(), "check", "--default"});
  EXPECT_EQ(text.exit_code, 0);
  auto path = std::filesystem::temp_directory_path() / "penstock-e2e-check.toml";
  std::ofstream(path) << text.out;
  EXPECT_EQ(e2e::run({penstock(), "check", path}).out, plan.out);
  std::ofstream(path) << text.out << "\n[fabric2]\n";
  auto bad = e2e::run({penstock(), "check", path});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("fabric2"));
  std::filesystem::remove(path);
}

} // namespace
} // namespace penstock::e2e
