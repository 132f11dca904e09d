// `penstock bench` against a real cluster: what it reports is complete, adds up and is of the form
// that docs/benchmarking.md promises.
#include "cluster.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace penstock::e2e {
namespace {

using nlohmann::json;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct bench_run {
  finished end;
  json figures;
  std::string page;
};

/// `penstock bench` with these arguments, and the files it was told to write.
bench_run bench(std::vector<std::string> arguments) {
  auto file = std::filesystem::temp_directory_path()
              / ("penstock-e2e-bench." + std::to_string(getpid()) + ".json");
  auto page = file.string() + ".html";
  std::vector<std::string> argv{penstock(), "bench"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  argv.insert(argv.end(), {"--json", file, "--html", page});
  bench_run out{run(argv), {}, {}};
  out.figures = json::parse(text_of(file), nullptr, false);
  out.page = text_of(page);
  std::filesystem::remove(file);
  std::filesystem::remove(page);
  return out;
}

/// One file that asks nothing of a network.
void expect_self_contained(const std::string& page) {
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0U);
  EXPECT_EQ(page.substr(page.size() - 8), "</html>\n");
  for (const char* outside : {"http:", "https:", "src=", "href=", "@import", "url(", "fetch("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  EXPECT_NE(page.find("<canvas"), std::string::npos);
}

void expect_ordered(const json& p) {
  EXPECT_GT(p["count"], 0) << p;
  EXPECT_LE(p["p50"].get<double>(), p["p90"].get<double>());
  EXPECT_LE(p["p90"].get<double>(), p["p99"].get<double>());
  EXPECT_LE(p["p99"].get<double>(), p["max"].get<double>());
}

bench_run load(const std::string& address, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--address", address});
  return bench(std::move(arguments));
}

TEST(bench, closed_loop_counts_every_token_and_what_was_cached) {
  cluster c;
  auto b = load(c.address(),
                {"--concurrency", "3", "--requests", "12", "--warmup", "3", "--prompt-tokens", "64",
                 "--shared-prefix-tokens", "48", "--output-tokens", "8", "--slo-ttft-ms", "60000",
                 "--slo-itl-ms", "60000", "--slo-tpot-ms", "60000"});
  ASSERT_EQ(b.end.exit_code, 0) << b.end.out << b.end.err;
  EXPECT_EQ(b.end.err, ""); // No bar without a terminal.
  EXPECT_NE(b.end.out.find("closed loop, 3 at a time"), std::string::npos);
  const auto& j = b.figures;
  EXPECT_EQ(j["schema"], "penstock-bench-load/1");
  EXPECT_NE(j["run"]["commit"], "");
  EXPECT_GT(j["run"]["cores"], 0);
  EXPECT_NE(j["run"]["command"].get<std::string>().find("bench --concurrency"), std::string::npos);
  EXPECT_EQ(j["server"]["model"], "builtin");
  const auto& r = j["results"];
  EXPECT_EQ(r["requests"], 12);
  EXPECT_EQ(r["completed"], 12);
  EXPECT_EQ(r["failed"], 0);
  EXPECT_EQ(r["warmup"], 3);
  EXPECT_EQ(r["output_tokens"], 12 * 8);
  EXPECT_EQ(r["prompt_tokens"], 12 * 64);
  EXPECT_GE(r["cached_tokens"], 12 * 48);
  EXPECT_EQ(r["ttft_ms"]["count"], 12);
  EXPECT_EQ(r["itl_ms"]["count"], 12 * 7);
  EXPECT_EQ(r["goodput"]["good"], 12);
  for (const char* what : {"ttft_ms", "itl_ms", "tpot_ms", "e2e_ms"})
    expect_ordered(r[what]);
  EXPECT_EQ(j["failures"], json::array());
  EXPECT_EQ(j["generator"]["late_ms"]["count"], 15);
  expect_self_contained(b.page);
}

TEST(bench, open_loop_ends_with_its_time_and_traces_keep_their_own) {
  cluster c;
  auto b = load(c.address(), {"--rate", "40", "--duration", "1", "--prompt-tokens", "16",
                              "--output-tokens", "4"});
  ASSERT_EQ(b.end.exit_code, 0) << b.end.out << b.end.err;
  EXPECT_EQ(b.figures["load"]["loop"], "open");
  // A Poisson count of mean 40; this seed's is always the same.
  EXPECT_GT(b.figures["results"]["requests"], 15);
  EXPECT_LT(b.figures["results"]["requests"], 80);

  auto file = std::filesystem::temp_directory_path()
              / ("penstock-e2e-trace." + std::to_string(getpid()) + ".jsonl");
  std::ofstream(file) << R"({"timestamp": 0, "input_length": 512, "output_length": 40}
{"timestamp": 30, "input_length": 900000, "output_length": 20}
)";
  auto t = load(c.address(), {"--trace", file, "--trace-scale", "0.1"});
  std::filesystem::remove(file);
  ASSERT_EQ(t.end.exit_code, 0) << t.end.out << t.end.err;
  EXPECT_EQ(t.figures["load"]["loop"], "trace");
  EXPECT_EQ(t.figures["results"]["requests"], 2);
  EXPECT_EQ(t.figures["results"]["cut_to_context"], 1);
}

TEST(bench, says_what_failed_and_why) {
  cluster c{{.more = "[admission]\ntokens_in_flight_max = 100\nqueue_max = 0\n"}};
  auto b = load(c.address(), {"--concurrency", "8", "--requests", "16", "--prompt-tokens", "60",
                              "--output-tokens", "8"});
  EXPECT_EQ(b.end.exit_code, 1) << b.end.out;
  EXPECT_GT(b.figures["results"]["failed"], 0);
  EXPECT_EQ(b.figures["failures"][0]["reason"], "overloaded");
  EXPECT_NE(b.end.out.find("overloaded"), std::string::npos);
}

TEST(bench, interference_runs_its_arms_on_clusters_of_its_own) {
  auto b = bench({"interference", "--rounds", "1", "--seconds", "0.5", "--model", "builtin",
                  "--ratios", "256:8,64:64", "--arms", "alone,null,split"});
  ASSERT_EQ(b.end.exit_code, 0) << b.end.out << b.end.err;
  EXPECT_NE(b.end.out.find("plan of split"), std::string::npos);
  const auto& j = b.figures;
  EXPECT_EQ(j["schema"], "penstock-bench-interference/1");
  ASSERT_EQ(j["ratios"].size(), 2U);
  EXPECT_EQ(j["runs"].size(), 5U); // Alone once, the others at both ratios.
  for (const auto& run : j["runs"]) {
    expect_ordered(run["itl_ms"]);
    EXPECT_EQ(run["failures"], json::object());
    EXPECT_GT(run["tokens_per_s"], 0);
  }
  EXPECT_GT(j["ratios"][0]["verdict"]["split_over_null_p99"], 0);
  EXPECT_TRUE(j["ratios"][0]["verdict"]["split_p99_below_colocated"].is_null());
  EXPECT_GT(j["setting"]["period_ms"], 0);
  expect_self_contained(b.page);
  EXPECT_NE(b.page.find("data-plot=\"2\""), std::string::npos); // Alone, null, split.
}

TEST(bench, makes_a_model_that_a_cluster_serves) {
  auto folder
    = std::filesystem::temp_directory_path() / ("penstock-e2e-model." + std::to_string(getpid()));
  auto made = run({penstock(), "bench", "model", folder, "--parameters", "1M"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  {
    cluster c{{.model = folder}};
    auto b
      = load(c.address(), {"--requests", "3", "--prompt-tokens", "20", "--output-tokens", "5"});
    EXPECT_EQ(b.end.exit_code, 0) << b.end.out << b.end.err;
  }
  std::filesystem::remove_all(folder);
}

TEST(bench, without_a_cluster_says_how_to_start_one) {
  auto f = run({penstock(), "bench", "--address", "127.0.0.1:1"});
  EXPECT_EQ(f.exit_code, 1);
  EXPECT_NE(f.err.find("penstock up"), std::string::npos) << f.err;
  f = run({penstock(), "bench", "--rate", "1", "--concurrency", "1"});
  EXPECT_EQ(f.exit_code, 2);
  EXPECT_NE(f.err.find("--rate"), std::string::npos) << f.err;
}

} // namespace
} // namespace penstock::e2e
