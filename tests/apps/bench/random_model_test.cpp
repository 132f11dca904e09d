#include "apps/bench/random_model.hpp"
#include "apps/builtin_model.hpp"
#include "model/load.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace penstock::apps::bench {
namespace {

namespace fs = std::filesystem;

TEST(random_model, sizes_are_read_with_their_unit) {
  for (auto [text, count] : {std::pair{"100M", uint64_t{100'000'000}},
                             {"1.5M", uint64_t{1'500'000}},
                             {"2000000", uint64_t{2'000'000}},
                             {"3000K", uint64_t{3'000'000}},
                             {"1B", uint64_t{1'000'000'000}}}) {
    auto got = parse_parameters(text);
    ASSERT_TRUE(got) << text;
    EXPECT_EQ(*got, count);
  }
  for (const char* bad :
       {"", "M", "100 M", "100m", "-5M", "0", "2B", "999999", "nan", "inf", "1e99M", "100Mx"})
    EXPECT_FALSE(parse_parameters(bad)) << bad;
}

TEST(random_model, shapes_have_the_size_asked_for) {
  for (uint64_t wanted :
       {1'000'000U, 2'000'000U, 10'000'000U, 100'000'000U, 350'000'000U, 1'000'000'000U}) {
    auto shape = random_shape(wanted, 2048, 2048);
    auto got = static_cast<double>(parameters_of(shape));
    EXPECT_NEAR(got / static_cast<double>(wanted), 1.0, 0.2) << wanted;
    EXPECT_EQ(shape.heads % shape.kv_heads, 0U);
    EXPECT_EQ(shape.heads * shape.head_dim, shape.hidden);
    // What a config.json of it says is what a config.json of it is read as.
    auto text = model::config_json_text(shape);
    auto read = model::parse_config(std::as_bytes(std::span{text}), "config.json");
    ASSERT_TRUE(read) << read.err().text();
    EXPECT_EQ(*read, shape);
  }
  auto usual = random_shape(100'000'000, 2048, 2048);
  EXPECT_EQ(usual.hidden, 768U);
  EXPECT_EQ(usual.intermediate, 2048U);
}

std::string bytes_of(const fs::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(random_model, is_written_whole_loads_and_is_the_same_for_a_seed) {
  if (!model_directory("builtin"))
    GTEST_SKIP() << "no built-in model";
  auto root = fs::temp_directory_path() / ("penstock-random." + std::to_string(getpid()));
  auto made = write_random_model(root / "a", 1'000'000, 5);
  ASSERT_TRUE(made) << made.err().text();
  ASSERT_TRUE(write_random_model(root / "b", 1'000'000, 5));
  ASSERT_TRUE(write_random_model(root / "c", 1'000'000, 6));
  auto loaded = model::load_model(root / "a");
  ASSERT_TRUE(loaded) << loaded.err().text();
  EXPECT_EQ((*loaded)->config, *made);
  auto weights = [&root](const char* name) { return bytes_of(root / name / "model.safetensors"); };
  EXPECT_TRUE(weights("a") == weights("b"));
  EXPECT_FALSE(weights("a") == weights("c"));
  fs::remove_all(root);
}

} // namespace
} // namespace penstock::apps::bench
