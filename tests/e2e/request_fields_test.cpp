// What a client may ask for beside a prompt, through RPC and three processes; and every refusal.
#include "cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using arguments = std::vector<std::string>;

const char* const prompt
  = "Well, Prince, so Genoa and Lucca are now just family estates of the Buonapartes. But I warn "
    "you, if you do not tell me that this means war";

TEST(request_fields, the_likeliest_tokens_are_those_of_one_process_bit_for_bit) {
  cluster c;
  for (const auto& a : std::vector<arguments>{
         {"--top-logprobs", "5", "--max-tokens", "12", "--", prompt},
         {"--top-logprobs", "20", "--max-tokens", "12", "--temperature", "1", "--seed", "5", "--",
          prompt},
         {"--top-logprobs", "1", "--max-tokens", "12", "--repetition-penalty", "1.5", "--stop",
          "ever in", "--", prompt},
       }) {
    auto got = c.ask(a);
    auto expected = oracle("builtin", a);
    EXPECT_EQ(fingerprint(got), fingerprint(expected)) << got;
    ASSERT_EQ(got["top_logprobs"].size(), got["token_ids"].size());
    EXPECT_EQ(got["top_logprobs"], expected["top_logprobs"]);
    for (const auto& top : got["top_logprobs"])
      EXPECT_EQ(std::to_string(top.size()), a[1]);
    // They are on the side of what is drawn, not in it.
    EXPECT_EQ(fingerprint(got), fingerprint(oracle("builtin", {a.begin() + 2, a.end()})));
  }
  auto greedy = c.ask({"--top-logprobs", "3", "--max-tokens", "8", "--", prompt});
  for (size_t i = 0; i < greedy["token_ids"].size(); ++i) {
    EXPECT_EQ(greedy["top_logprobs"][i][0]["id"], greedy["token_ids"][i]);
    EXPECT_EQ(greedy["top_logprobs"][i][0]["logprob"], greedy["logprobs"][i]);
  }
  EXPECT_FALSE(c.ask({"--max-tokens", "2", "--", prompt}).contains("top_logprobs"));
}

TEST(request_fields, the_answer_goes_on_after_its_given_beginning) {
  cluster c;
  const std::string whole{prompt};
  for (size_t cut : {0UL, 5UL, 33UL, whole.size() - 1}) {
    arguments a{"--max-tokens",    "16", "--reply-prefix",
                whole.substr(cut), "--", whole.substr(0, cut)};
    auto got = c.ask(a);
    auto expected = oracle("builtin", {"--max-tokens", "16", "--", whole});
    EXPECT_EQ(fingerprint(got), fingerprint(expected)) << got;
    EXPECT_EQ(got["text"], expected["text"]); // Not echoed; no space lost or added.
    EXPECT_EQ(got["usage"]["prompt_tokens"], expected["usage"]["prompt_tokens"]);
    EXPECT_EQ(fingerprint(oracle("builtin", a)), fingerprint(expected));
  }
  arguments ids{"--max-tokens", "8", "--prompt-ids", "5,80", "--reply-prefix", " and the war"};
  EXPECT_EQ(fingerprint(c.ask(ids)), fingerprint(oracle("builtin", ids)));
}

TEST(request_fields, a_stop_string_is_not_looked_for_in_the_beginning) {
  cluster c;
  auto text = oracle("builtin", {"--max-tokens", "16", "--", prompt})["text"];
  for (const char* stop : {"this means war", "war"}) {
    auto a = c.ask({"--max-tokens", "16", "--stop", stop, "--reply-prefix", prompt, "--", ""});
    EXPECT_EQ(a["text"], text.get<std::string>().substr(0, text.get<std::string>().find(stop)));
  }
  // The beginning's last character and the answer's first do not make a stop string either.
  auto across = std::string{"r"} + text.get<std::string>().substr(0, 2);
  auto a = c.ask({"--max-tokens", "16", "--stop", across, "--reply-prefix", prompt, "--", ""});
  EXPECT_EQ(a["text"], text);
}

TEST(request_fields, a_priority_and_a_tenant_change_nothing_in_an_answer) {
  cluster c;
  auto plain = fingerprint(c.ask({"--max-tokens", "8", "--", prompt}));
  for (const char* priority : {"interactive", "normal", "batch"})
    EXPECT_EQ(fingerprint(c.ask({"--max-tokens", "8", "--priority", priority, "--tenant",
                                 "acme.co-1_x", "--", prompt})),
              plain);
}

int cached(const json& answer) {
  return answer["usage"]["cached_tokens"].get<int>();
}

TEST(request_fields, only_requests_of_one_salt_share_a_cached_prompt) {
  cluster c;
  auto with = [&c](arguments more) {
    for (const char* rest : {"--max-tokens", "4", "--", prompt})
      more.emplace_back(rest);
    return c.ask(more);
  };
  auto first = with({});
  EXPECT_EQ(cached(first), 0);
  EXPECT_GT(cached(with({})), 16);
  for (const char* salt : {"a", "b", "\xC3\xA4"}) {
    auto fresh = with({"--cache-salt", salt});
    EXPECT_EQ(cached(fresh), 0) << salt;
    EXPECT_EQ(fresh["usage"]["computed_tokens"], fresh["usage"]["prompt_tokens"]);
    auto again = with({"--cache-salt", salt});
    EXPECT_GT(cached(again), 16) << salt;
    EXPECT_EQ(fingerprint(again), fingerprint(first));
  }
  EXPECT_GT(cached(with({"--tenant", "t"})), 16); // As the cluster file says nothing of tenants.
}

TEST(request_fields, tenants_share_no_cached_prompt_if_the_cluster_file_says_so) {
  cluster c{{.cluster_keys = "cache_isolation = \"tenant\""}};
  auto of = [&c](const char* tenant) {
    return cached(c.ask({"--tenant", tenant, "--max-tokens", "4", "--", prompt}));
  };
  EXPECT_EQ(of("one"), 0);
  EXPECT_GT(of("one"), 16);
  EXPECT_EQ(of("two"), 0);
  EXPECT_GT(of("two"), 16);
  EXPECT_EQ(cached(c.ask({"--max-tokens", "4", "--", prompt})), 0); // Nobody's.
}

std::string joined(const json& first, const json& second) {
  std::string out;
  for (const auto* ids : {&first, &second})
    for (const auto& id : *ids)
      out += std::to_string(id.get<int>()) + ",";
  return out;
}

TEST(request_fields, what_follows_a_stop_string_is_counted_and_in_no_usage_and_no_cache) {
  cluster c;
  arguments base{"--max-tokens", "48", "--ignore-end", "--", prompt};
  auto with = [&base](arguments more) {
    more.insert(more.end(), base.begin(), base.end());
    return more;
  };
  auto whole = oracle("builtin", base);
  auto text = whole["text"].get<std::string>();
  ASSERT_EQ(whole["token_ids"].size(), 48U);
  const auto stop = text.substr(text.size() - 6, 4); // Decode is far beyond the prompt by then.
  auto cut = c.ask(with({"--cache-salt", "cut", "--stop", stop}));
  EXPECT_EQ(cut["finish_reason"], "stop");
  EXPECT_EQ(cut["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(cut["usage"]["completion_tokens"], cut["token_ids"].size());
  EXPECT_EQ(cut["logprobs"].size(), cut["token_ids"].size());
  EXPECT_EQ(c.ask(with({"--cache-salt", "whole"}))["token_ids"], whole["token_ids"]);
  auto ids = json::parse(run({penstock(), "tokenize", "--json"}, prompt).out)["token_ids"];
  auto longer = joined(ids, whole["token_ids"]);
  auto found = [&](const char* salt) {
    return cached(c.ask({"--cache-salt", salt, "--max-tokens", "1", "--prompt-ids", longer}));
  };
  EXPECT_GT(found("whole"), static_cast<int>(ids.size()));
  auto of_cut = found("cut");
  EXPECT_GT(of_cut, 0);
  EXPECT_LE(of_cut, static_cast<int>(ids.size()));
  auto metrics = c.metrics_of("g0");
  EXPECT_GT(metrics["penstock_request_discarded_tokens_total{reason=\"stop_string\"}"], 0);
  EXPECT_GT(metrics["penstock_request_held_seconds_count{reason=\"stop_string\"}"], 0);
}

struct refusal {
  arguments what;
  const char* code;
  std::string detail;
};

std::vector<refusal> refusals() {
  const auto bad = "invalid_argument";
  return {
    {{"--", ""}, "prompt_empty", "no tokens"},
    {{"--", "caf\xC3"}, bad, "prompt is not UTF-8 at byte 3"},
    {{"--reply-prefix", "\xFF", "--", "x"}, bad, "reply_prefix is not UTF-8 at byte 0"},
    {{"--reply-prefix", std::string(65537, 'x'), "--", "x"},
     bad,
     "reply_prefix has 65537 bytes, more than 65536"},
    {{"--stop", "ab\xC3", "--", "x"}, bad, "stop_strings[0] is not UTF-8 at byte 2"},
    {{"--stop", "", "--", "x"}, bad, "stop_strings is empty"},
    {{"--stop", std::string(257, 'x'), "--", "x"}, bad, "257 bytes, more than 256"},
    {{"--stop-id", "4000000000", "--", "x"}, bad, "stop_ids[0] is 4000000000"},
    {{"--prompt-ids", "1,4000000000"}, bad, "prompt_ids[1] is 4000000000"},
    {{"--max-tokens", "0", "--", "x"}, bad, "tokens_max is 0, not in [1, 1048576]"},
    {{"--max-tokens", "1048577", "--", "x"}, bad, "tokens_max is 1048577"},
    {{"--min-tokens", "9", "--max-tokens", "8", "--", "x"},
     bad,
     "tokens_min is 9, more than tokens_max, 8"},
    {{"--temperature", "nan", "--", "x"}, bad, "temperature is nan, not in [0, 10]"},
    {{"--temperature", "inf", "--", "x"}, bad, "temperature is inf, not in [0, 10]"},
    {{"--temperature", "10.5", "--", "x"}, bad, "temperature is 10.5"},
    {{"--top-p", "0", "--", "x"}, bad, "top_p is 0.000000, not in (0, 1]"},
    {{"--min-p", "1.5", "--", "x"}, bad, "min_p is 1.5"},
    {{"--repetition-penalty", "-1", "--", "x"}, bad, "repetition_penalty is -1"},
    {{"--top-logprobs", "21", "--", "x"}, bad, "top_logprobs is 21, not in [0, 20]"},
    {{"--", std::string(size_t{64} << 10U, 'a')}, "prompt_too_long", "context holds"},
  };
}

TEST(request_fields, a_refusal_names_the_field_its_value_and_the_limit) {
  cluster c;
  for (const auto& r : refusals())
    for (const auto& a : {c.ask(r.what), oracle("builtin", r.what)}) {
      EXPECT_EQ(a["finish_reason"], "refused") << a;
      EXPECT_EQ(a["error"]["code"], r.code) << a;
      EXPECT_THAT(a["error"]["detail"].get<std::string>(), HasSubstr(r.detail));
      EXPECT_EQ(a["exit_code"], 1);
    }
  for (const auto& r : std::vector<refusal>{
         {{"--tenant", "a b", "--", "x"}, "invalid_argument", "tenant has byte 32 at 1"},
         {{"--tenant", std::string(65, 'a'), "--", "x"}, "invalid_argument", "tenant has 65 bytes"},
         {{"--cache-salt", "\xC3", "--", "x"}, "invalid_argument", "cache_salt is not UTF-8"},
         {{"--cache-salt", std::string(129, 'a'), "--", "x"}, "invalid_argument", "cache_salt has"},
         {{"--max-tokens", "4097", "--", "x"},
          "invalid_argument",
          "tokens_max is 4097, over this cluster's limit of 4096"},
         {{"--budget-ms", "600001", "--", "x"},
          "invalid_argument",
          "budget is 600001 ms, over this cluster's limit of 600000 ms"},
         {{"--budget-ms", "0", "--", "x"}, "invalid_argument", "budget_us is 0"},
         {{"--model", "gpt-none", "--", "x"}, "unknown_model", "gpt-none"},
       }) {
    auto a = c.ask(r.what);
    EXPECT_EQ(a["error"]["code"], r.code) << a;
    EXPECT_THAT(a["error"]["detail"].get<std::string>(), HasSubstr(r.detail));
  }
  EXPECT_EQ(c.ask({"--max-tokens", "1", "--", "x"})["exit_code"], 0); // It still serves.
}

} // namespace
} // namespace penstock::e2e
