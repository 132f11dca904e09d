#include "apps/bench/figures.hpp"
#include "apps/bench/report.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace penstock::apps::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Due at 1000, first token after 2 ms, then gaps of 1, 0 and 5 ms; ends with the last.
request_record well_done() {
  request_record r;
  r.prompt_tokens = 10;
  r.output_tokens = 4;
  r.due = 1000;
  r.sent = 1500;
  r.tokens = {3000, 4000, 4000, 9000};
  r.ended = 9000;
  r.endings = 1;
  r.outcome.reason = finish_reason::length;
  r.outcome.usage.prompt_tokens = 10;
  r.outcome.usage.completion_tokens = 4;
  r.outcome.usage.cached_tokens = 3;
  r.outcome.usage.computed_tokens = 7;
  return r;
}

TEST(figures, count_from_when_a_request_was_due) {
  load_result run;
  run.records.push_back(well_done());
  run.elapsed = 10'000;
  run.cpu_seconds = 0.002;
  auto f = figures_of(run, {});
  EXPECT_EQ(f.completed, 1U);
  EXPECT_EQ(f.failed(), 0U);
  EXPECT_DOUBLE_EQ(f.ttft_ms.median(), 2.0);
  EXPECT_DOUBLE_EQ(f.e2e_ms.median(), 8.0);
  EXPECT_DOUBLE_EQ(f.itl_ms.max(), 5.0);
  EXPECT_DOUBLE_EQ(f.itl_ms.min(), 0.0);
  EXPECT_DOUBLE_EQ(f.tpot_ms.median(), 2.0);
  EXPECT_DOUBLE_EQ(f.window_s, 0.008);
  EXPECT_DOUBLE_EQ(f.per_second(f.output_tokens), 500.0);
  EXPECT_EQ(f.prompt_tokens, 10U);
  EXPECT_EQ(f.cached_tokens, 3U);
  EXPECT_DOUBLE_EQ(f.late_ms.max(), 0.5);
  EXPECT_DOUBLE_EQ(f.generator_cores, 0.2);
  EXPECT_EQ(f.generator_warning(), "");
  EXPECT_THAT(gaps_ms(run.records[0]), ElementsAre(1.0, 0.0, 5.0));
}

TEST(figures, goodput_keeps_every_goal) {
  load_result run;
  run.records.push_back(well_done());
  for (auto [goal, good] :
       {std::pair{service_goal{2.0, 5.0, 2.0}, 1U}, std::pair{service_goal{1.9, 0.0, 0.0}, 0U},
        std::pair{service_goal{0.0, 4.9, 0.0}, 0U}, std::pair{service_goal{0.0, 0.0, 1.9}, 0U},
        std::pair{service_goal{}, 1U}})
    EXPECT_EQ(figures_of(run, goal).good, good) << goal.ttft_ms << ' ' << goal.itl_ms;
}

TEST(figures, leave_warm_ups_out_but_not_their_failures) {
  load_result run;
  run.records.push_back(well_done());
  run.records.push_back(well_done());
  run.records[0].counted = false;
  run.records[0].due = 0;
  run.records[1].due = 2000;
  EXPECT_DOUBLE_EQ(figures_of(run, {}).window_s, 0.007);
  EXPECT_EQ(figures_of(run, {}).requests, 1U);
  EXPECT_EQ(figures_of(run, {}).warmup, 1U);
  run.records[0].endings = 0;
  EXPECT_EQ(figures_of(run, {}).failed(), 1U);
}

TEST(figures, a_request_that_is_not_what_was_asked_for_is_a_failure_with_its_reason) {
  struct bad {
    const char* reason;
    std::function<void(request_record&)> spoil;
  };
  for (const auto& b : std::vector<bad>{
         {"never ended", [](auto& r) { r.endings = 0; }},
         {"ended more than once", [](auto& r) { r.endings = 2; }},
         {"tokens after the end", [](auto& r) { r.late_tokens = 1; }},
         {"overloaded", [](auto& r) { r.outcome.code = errc::overloaded; }},
         {"finish reason stop", [](auto& r) { r.outcome.reason = finish_reason::stop; }},
         {"wrong token count", [](auto& r) { r.tokens.pop_back(); }},
         {"wrong token count", [](auto& r) { r.outcome.usage.completion_tokens = 5; }},
         {"wrong prompt token count", [](auto& r) { r.outcome.usage.prompt_tokens = 11; }},
         {"wrong prompt token count", [](auto& r) { r.outcome.usage.cached_tokens = 0; }},
       }) {
    load_result run;
    run.records.push_back(well_done());
    run.records.push_back(well_done());
    b.spoil(run.records[1]);
    run.records[1].outcome.detail = "why";
    auto f = figures_of(run, {});
    EXPECT_EQ(f.completed, 1U) << b.reason;
    EXPECT_EQ(f.good, 1U) << b.reason;
    ASSERT_EQ(f.failures.count(b.reason), 1U) << b.reason;
    EXPECT_EQ(f.failures.at(b.reason).count, 1U);
    EXPECT_EQ(f.failures.at(b.reason).detail, "why");
  }
}

TEST(figures, say_if_the_generator_was_the_bottleneck) {
  load_result run;
  run.elapsed = 1'000'000;
  run.cpu_seconds = 0.95;
  EXPECT_THAT(figures_of(run, {}).generator_warning(), HasSubstr("0.95 cores"));
  run.cpu_seconds = 0.5;
  run.records.push_back(well_done());
  run.records[0].sent = run.records[0].due + 6000;
  EXPECT_THAT(figures_of(run, {}).generator_warning(), HasSubstr("sent late"));
}

load_report small_report() {
  load_report r;
  load_result run;
  run.records.push_back(well_done());
  run.records.push_back(well_done());
  run.records[1].outcome.code = errc::overloaded;
  run.records[1].outcome.detail = "queue full \xff";
  r.load = *checked({});
  r.load.goal.ttft_ms = 1.0;
  r.address = "127.0.0.1:1";
  r.server.model = "m";
  r.measured = figures_of(run, r.load.goal);
  return r;
}

TEST(report, has_every_figure_in_its_json) {
  auto j = nlohmann::json::parse(to_json(small_report()));
  EXPECT_EQ(j["schema"], load_schema);
  EXPECT_EQ(j["load"]["loop"], "closed");
  EXPECT_EQ(j["load"]["concurrency"], 4);
  EXPECT_EQ(j["results"]["completed"], 1);
  EXPECT_EQ(j["results"]["failed"], 1);
  EXPECT_EQ(j["results"]["ttft_ms"]["p50"], 2.0);
  EXPECT_EQ(j["results"]["itl_ms"]["max"], 5.0);
  EXPECT_EQ(j["results"]["itl_ms"]["count"], 3);
  EXPECT_EQ(j["results"]["cached_share"], 0.3);
  EXPECT_EQ(j["results"]["goodput"]["good"], 0);
  EXPECT_EQ(j["failures"][0]["reason"], "overloaded");
  EXPECT_TRUE(j["generator"]["warning"].is_null());
}

TEST(report, has_every_figure_in_its_table) {
  auto text = to_text(small_report());
  for (const char* part : {"TTFT", "ITL", "TPOT", "E2E", "p99", "tokens/s", "30.0 % of them cached",
                           "goodput", "overloaded", "closed loop, 4 at a time"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_FALSE(succeeded(small_report()));
}

} // namespace
} // namespace penstock::apps::bench
