#include "apps/bench/trace_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace penstock::apps::bench {
namespace {

TEST(trace_file, reads_json_lines_in_order_of_time) {
  auto trace = parse_trace(R"({"timestamp": 50, "input_length": 7, "output_length": 2}
{"timestamp": 20, "input_length": 600, "output_length": 5, "hash_ids": [0, 14]}
)",
                           "t.jsonl");
  ASSERT_TRUE(trace) << trace.err().text();
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ((*trace)[0].at, 0U);
  EXPECT_EQ((*trace)[0].prompt_tokens, 600U);
  EXPECT_EQ((*trace)[0].output_tokens, 5U);
  EXPECT_EQ((*trace)[0].blocks, (std::vector<uint64_t>{0, 14}));
  EXPECT_EQ((*trace)[1].at, 30'000U);
  EXPECT_TRUE((*trace)[1].blocks.empty());
}

TEST(trace_file, reads_csv_over_midnight_and_the_end_of_february) {
  auto trace = parse_trace("TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
                           "2024-02-29 23:59:59.5000000,374,44\r\n"
                           "2024-03-01 00:00:00.7500000,396,109\r\n",
                           "t.csv");
  ASSERT_TRUE(trace) << trace.err().text();
  ASSERT_EQ(trace->size(), 2U);
  EXPECT_EQ((*trace)[1].at, 1'250'000U);
  EXPECT_EQ((*trace)[1].prompt_tokens, 396U);
  EXPECT_EQ((*trace)[1].output_tokens, 109U);
}

TEST(trace_file, names_the_line_that_is_no_request) {
  for (const char* bad :
       {"[]", "{", "{\"timestamp\": 1}", "{}",
        R"({"timestamp": -1, "input_length": 1, "output_length": 1})",
        R"({"timestamp": 1, "input_length": 1.5, "output_length": 1})",
        R"({"timestamp": 1, "input_length": 99999999999, "output_length": 1})",
        R"({"timestamp": 1, "input_length": 1, "output_length": 1, "hash_ids": 3})", "\xff\xfe"}) {
    auto text = std::string{R"({"timestamp": 1, "input_length": 1, "output_length": 1})"} + "\n"
                + bad + "\n";
    auto trace = parse_trace(text, "t.jsonl");
    ASSERT_FALSE(trace) << bad;
    EXPECT_EQ(trace.err().code, errc::malformed);
    EXPECT_EQ(trace.err().detail.rfind("t.jsonl:2: ", 0), 0U) << trace.err().detail;
  }
  for (const char* bad :
       {"x", ",,", "2023-11-16 18:15:46.6,1", "2023-13-16 18:15:46.6,1,1",
        "2023-11-16 18:15:46.6,1,x", "2023-11-16 99:15:46.6,1,1", "2023-11-16 18:15:46.6,-1,1"}) {
    auto trace
      = parse_trace(std::string{"TIMESTAMP,ContextTokens,GeneratedTokens\n"} + bad, "t.csv");
    ASSERT_FALSE(trace) << bad;
    EXPECT_EQ(trace.err().detail.rfind("t.csv:2: ", 0), 0U) << trace.err().detail;
  }
  EXPECT_FALSE(parse_trace("", "t"));
  EXPECT_FALSE(parse_trace("TIMESTAMP,ContextTokens,GeneratedTokens\n", "t"));
}

TEST(trace_file, reads_the_traces_people_published) {
  auto folder = std::string{PENSTOCK_SHARED_DIR} + "/traces/";
  if (!std::filesystem::exists(folder))
    GTEST_SKIP() << "no traces in " << PENSTOCK_SHARED_DIR;
  for (auto [name, count] : {std::pair{"conversation_trace.jsonl", 12'031U},
                             std::pair{"AzureLLMInferenceTrace_conv.csv", 19'366U}}) {
    auto text = read_text_file(folder + name);
    ASSERT_TRUE(text) << text.err().text();
    auto trace = parse_trace(*text, name);
    ASSERT_TRUE(trace) << trace.err().text();
    EXPECT_EQ(trace->size(), count);
    EXPECT_LT(trace->back().at, uint64_t{4} * 3'600'000'000U);
  }
}

TEST(trace_file, that_is_not_there_is_named) {
  auto text = read_text_file("/nowhere/t.csv");
  ASSERT_FALSE(text);
  EXPECT_NE(text.err().detail.find("/nowhere/t.csv"), std::string::npos);
}

} // namespace
} // namespace penstock::apps::bench
