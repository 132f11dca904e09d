#include "apps/bench/options.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace penstock::apps::bench {
namespace {

TEST(load_options, are_completed) {
  auto o = checked({});
  ASSERT_TRUE(o) << o.err().text();
  EXPECT_EQ(o->concurrency, 4U);
  EXPECT_EQ(o->requests, 100U);
  EXPECT_EQ(o->loop(), "closed");
  EXPECT_EQ(o->source(), "synthetic");
  load_options timed;
  timed.rate = 2.5;
  timed.duration_s = 3.0;
  o = checked(timed);
  ASSERT_TRUE(o);
  EXPECT_EQ(o->requests, 0U);
  EXPECT_EQ(o->loop(), "open");
}

TEST(load_options, that_make_no_sense_are_refused_by_name) {
  struct bad {
    const char* name;
    std::function<void(load_options&)> spoil;
  };
  for (const auto& b : std::vector<bad>{
         {"--rate",
          [](load_options& o) {
            o.rate = 1.0;
            o.concurrency = 1;
          }},
         {"--rate", [](load_options& o) { o.rate = -1.0; }},
         {"--rate", [](load_options& o) { o.rate = std::nan(""); }},
         {"--rate", [](load_options& o) { o.rate = 1e9; }},
         {"--concurrency", [](load_options& o) { o.concurrency = 5000; }},
         {"--requests", [](load_options& o) { o.requests = 2'000'000; }},
         {"--requests", [](load_options& o) { o.requests = UINT64_MAX; }},
         {"--warmup", [](load_options& o) { o.warmup = 2'000'000; }},
         {"--duration", [](load_options& o) { o.duration_s = -0.5; }},
         {"--prompts",
          [](load_options& o) {
            o.prompts = std::string{"prompts.txt"};
            o.trace = std::string{"trace.csv"};
          }},
         {"--trace-scale", [](load_options& o) { o.trace_scale = 0.0; }},
         {"--trace-speed", [](load_options& o) { o.trace_speed = -1.0; }},
         {"--prompt-tokens", [](load_options& o) { o.prompt_tokens = 0; }},
         {"--output-tokens", [](load_options& o) { o.output_tokens = 0; }},
         {"--shared-prefix-tokens", [](load_options& o) { o.shared_prefix_tokens = 129; }},
         {"--vocabulary", [](load_options& o) { o.vocabulary = 0; }},
         {"--budget-ms", [](load_options& o) { o.budget_ms = 0; }},
         {"--slo", [](load_options& o) { o.goal.itl_ms = -3.0; }},
       }) {
    load_options o;
    b.spoil(o);
    auto got = checked(o);
    ASSERT_FALSE(got) << b.name;
    EXPECT_EQ(got.err().code, errc::invalid_argument);
    EXPECT_NE(got.err().detail.find(b.name), std::string::npos) << got.err().detail;
  }
}

TEST(load_options, must_fit_the_servers_context_and_name_files_that_are_there) {
  load_options o;
  o.prompt_tokens = 64;
  EXPECT_TRUE(stream_of(*checked(o), 65));
  auto full = stream_of(*checked(o), 64);
  ASSERT_FALSE(full);
  EXPECT_NE(full.err().detail.find("--prompt-tokens 64"), std::string::npos);
  o.prompts = "/nowhere/p.txt";
  EXPECT_EQ(stream_of(*checked(o), 65).err().code, errc::io_failed);
  o.prompts.clear();
  o.trace = "/nowhere/t.csv";
  EXPECT_EQ(checked(o)->loop(), "trace");
  EXPECT_EQ(stream_of(*checked(o), 65).err().code, errc::io_failed);
}

} // namespace
} // namespace penstock::apps::bench
