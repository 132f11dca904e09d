// What the interference benchmark decides: options, clusters, measures, verdicts.
#include "apps/bench/interference_options.hpp"
#include "apps/bench/interference_report.hpp"
#include "cluster/config.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <functional>

namespace penstock::apps::bench {
namespace {

using ::testing::HasSubstr;

TEST(interference_options, are_understood) {
  auto plan = understood({});
  ASSERT_TRUE(plan) << plan.err().text();
  EXPECT_EQ(plan->ratios.size(), 3U);
  EXPECT_EQ(plan->ratios[1], (token_ratio{512, 64}));
  EXPECT_EQ(plan->arms.size(), 4U);
  EXPECT_EQ(plan->parameters, 100'000'000U);
  EXPECT_EQ(plan->long_tokens_max(), 576U);
  EXPECT_GE(plan->options.rounds, 7U);
  interference_options o;
  o.arms = {"colocated", "colocated"};
  plan = understood(o);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->arms.size(), 1U);
  EXPECT_FALSE(plan->has_split_cluster());
}

TEST(interference_options, that_make_no_sense_are_refused_by_name) {
  struct bad {
    const char* name;
    std::function<void(interference_options&)> spoil;
  };
  for (const auto& b : std::vector<bad>{
         {"--rounds", [](auto& o) { o.rounds = 0; }},
         {"--seconds", [](auto& o) { o.seconds = 0.0; }},
         {"--victims", [](auto& o) { o.victims = 17; }},
         {"--period-ms", [](auto& o) { o.period_ms = -1.0; }},
         {"--prefill-chunk", [](auto& o) { o.prefill_chunk = 0; }},
         {"--chunks",
          [](auto& o) {
            o.chunks = {64, 0};
          }},
         {"--chunks", [](auto& o) { o.chunks.clear(); }},
         {"--ratios", [](auto& o) { o.ratios.clear(); }},
         {"--ratios", [](auto& o) { o.ratios = {"512"}; }},
         {"--ratios", [](auto& o) { o.ratios = {"0:5"}; }},
         {"--ratios", [](auto& o) { o.ratios = {"5:x"}; }},
         {"--arms", [](auto& o) { o.arms = {"both"}; }},
         {"--arms", [](auto& o) { o.arms.clear(); }},
         {"--parameters", [](auto& o) { o.parameters = "many"; }},
       }) {
    interference_options o;
    b.spoil(o);
    auto got = understood(o);
    ASSERT_FALSE(got) << b.name;
    EXPECT_THAT(got.err().detail, HasSubstr(b.name));
  }
}

TEST(arms, are_cluster_files_without_a_mistake) {
  for (auto which : {arm::alone, arm::null, arm::split}) {
    arm_layout layout{"a \"quoted\" folder", 0, 3, 128, 1U << 20U, 32, {1001, 1002, 1003, 1004}};
    auto made = cluster_of(which, layout);
    auto read = cluster::parse_config(made.text, "arm.toml");
    ASSERT_TRUE(read.config) << cluster::to_text(read.mistakes) << made.text;
    EXPECT_TRUE(read.warnings.empty()) << cluster::to_text(read.warnings);
    EXPECT_EQ(read.config->model, layout.model);
    EXPECT_EQ(made.address, read.config->nodes[0].rpc->text());
    ASSERT_EQ(made.nodes.size(), read.config->nodes.size());
    for (size_t i = 0; i < made.nodes.size(); ++i) {
      EXPECT_EQ(made.nodes[i], read.config->nodes[i].name);
      EXPECT_EQ(read.config->nodes[i].service_core, 3U);
    }
    EXPECT_EQ(read.config->nodes[1].compute_cores, (std::vector<uint32_t>{3}));
    EXPECT_EQ(read.config->nodes[2].compute_cores, (std::vector<uint32_t>{0}));
  }
}

request_record record_of(uint32_t stream, std::vector<time_us> tokens) {
  request_record r;
  r.stream = stream;
  r.prompt_tokens = 100;
  r.output_tokens = static_cast<uint32_t>(tokens.size());
  r.tokens = std::move(tokens);
  r.endings = 1;
  r.ended = r.tokens.back();
  r.outcome.reason = finish_reason::length;
  r.outcome.usage.prompt_tokens = 100;
  r.outcome.usage.computed_tokens = 100;
  r.outcome.usage.completion_tokens = r.output_tokens;
  return r;
}

TEST(arm_run, measures_victims_gaps_and_long_prompts_within_the_window_only) {
  load_result seen;
  // Gaps that end before, in, in and after the window.
  seen.records.push_back(
    record_of(victim_stream, {500'000, 900'000, 1'010'000, 1'030'000, 2'100'000}));
  seen.records.push_back(record_of(long_stream, {1'500'000, 1'600'000}));
  seen.records.back().due = 1'200'000;
  auto run = measured(seen, 1'000'000, 2'000'000);
  EXPECT_EQ(run.itl_ms.count(), 2U);
  EXPECT_DOUBLE_EQ(run.itl_ms.max(), 110.0);
  EXPECT_DOUBLE_EQ(run.itl_ms.min(), 20.0);
  EXPECT_DOUBLE_EQ(run.ttft_ms.median(), 300.0);
  EXPECT_DOUBLE_EQ(run.output_per_s, 4.0);
  EXPECT_DOUBLE_EQ(run.tokens_per_s, 104.0);
  EXPECT_TRUE(run.failures.empty());
}

TEST(arm_run, being_cut_at_the_end_is_no_failure_and_anything_else_is) {
  load_result seen;
  seen.records.push_back(record_of(victim_stream, {500'000, 2'000'001}));
  auto& r = seen.records[0];
  r.output_tokens = 9;
  r.outcome.code = errc::cancelled;
  EXPECT_TRUE(measured(seen, 0, 2'000'000).failures.empty());
  EXPECT_EQ(measured(seen, 0, 3'000'000).failures.count("cancelled"), 1U);
  r.outcome.code = errc::overloaded;
  EXPECT_EQ(measured(seen, 0, 2'000'000).failures.count("overloaded"), 1U);
}

arm_run run_of(arm which, size_t ratio, double p99, double tokens_per_s) {
  arm_run out;
  out.which = which;
  out.ratio = ratio;
  out.itl_ms = percentiles{{p99}};
  out.ttft_ms = percentiles{{7.0}};
  out.tokens_per_s = tokens_per_s;
  return out;
}

TEST(verdict, compares_medians_and_allows_the_nulls_own_spread) {
  std::vector<arm_run> runs;
  for (double p99 : {10.0, 10.0, 10.0, 12.0}) // Upper quartile 10: the limit is 11.
    runs.push_back(run_of(arm::null, 0, p99, 1.0));
  for (double p99 : {10.9, 10.9, 50.0})
    runs.push_back(run_of(arm::split, 0, p99, 100.0));
  for (double p99 : {10.8, 20.0, 20.0})
    runs.push_back(run_of(arm::colocated, 0, p99, 90.0));
  auto v = judge(runs, 0);
  EXPECT_DOUBLE_EQ(v.split_over_null, 1.09);
  EXPECT_NEAR(v.null_limit_ms, 11.0, 1e-9);
  EXPECT_TRUE(v.undisturbed);
  EXPECT_TRUE(v.split_below_colocated);
  EXPECT_FALSE(v.colocated_faster);
  runs.push_back(run_of(arm::split, 0, 11.2, 1.0));
  runs.push_back(run_of(arm::split, 0, 11.2, 1.0));
  runs.push_back(run_of(arm::split, 0, 11.2, 1.0));
  EXPECT_FALSE(judge(runs, 0).undisturbed);
  EXPECT_TRUE(judge(runs, 0).colocated_faster);
}

TEST(verdict, is_none_without_the_arms_it_compares) {
  std::vector<arm_run> runs{run_of(arm::alone, 0, 4.0, 1.0), run_of(arm::split, 1, 5.0, 1.0)};
  EXPECT_FALSE(judge(runs, 0).undisturbed_judged);
  EXPECT_FALSE(judge(runs, 1).compared_judged);
  EXPECT_DOUBLE_EQ(judge(runs, 1).split_over_alone, 1.25); // Alone is of every ratio.
}

TEST(best_chunk, is_the_smoothest_that_is_not_slow) {
  EXPECT_EQ(best_chunk({{64, 10.0, 50.0}, {128, 20.0, 95.0}, {256, 40.0, 100.0}}), 128U);
  EXPECT_EQ(best_chunk({{64, 10.0, 91.0}, {128, 20.0, 95.0}, {256, 40.0, 100.0}}), 64U);
  EXPECT_EQ(best_chunk({{512, 9.0, 0.0}}), 512U);
}

TEST(interference_report, has_every_ratio_and_verdict_in_all_its_forms) {
  interference_report r;
  r.plan = *understood({});
  r.result.model = "m";
  r.result.plans = {{"split", "the plan"}};
  r.result.trials = {{64, 1.0, 2.0}, {128, 3.0, 4.0}};
  r.result.chunk = 64;
  r.result.runs.push_back(run_of(arm::alone, 0, 4.0, 1.0));
  for (size_t ratio = 0; ratio < 3; ++ratio)
    for (auto which : {arm::null, arm::split, arm::colocated})
      r.result.runs.push_back(run_of(which, ratio, 5.0, 6.0));
  r.result.runs.back().failures["overloaded"] = 2;
  auto text = to_text(r);
  for (const char* part : {"the plan", "512:8", "128:128", "colocated", "NOT below", "chosen",
                           "2 requests failed, colocated: overloaded"})
    EXPECT_THAT(text, HasSubstr(part));
  auto j = nlohmann::json::parse(to_json(r));
  EXPECT_EQ(j["schema"], interference_schema);
  ASSERT_EQ(j["ratios"].size(), 3U);
  EXPECT_EQ(j["ratios"][2]["split"]["itl_ms_p99"]["median"], 5.0);
  EXPECT_EQ(j["ratios"][2]["verdict"]["split_undisturbed"], true);
  EXPECT_EQ(j["runs"].size(), 10U);
  EXPECT_EQ(j["chunk_trials"][1]["chunk_tokens"], 128);
  EXPECT_EQ(to_page(r).tables.size(), 4U);
}

} // namespace
} // namespace penstock::apps::bench
