#include "apps/cluster_source.hpp"
#include "cluster/default_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace penstock::apps {
namespace {

using ::testing::HasSubstr;

class cluster_source_test : public ::testing::Test {
protected:
  cluster_source_test() { std::filesystem::create_directories(folder_); }
  ~cluster_source_test() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream{folder_ / name} << text;
    return (folder_ / name).string();
  }

  /// @returns What read_cluster said; `good` is whether it found a cluster.
  static std::string read(const std::string& file, bool& good) {
    ::testing::internal::CaptureStderr();
    good = read_cluster({file, ""}).has_value();
    return ::testing::internal::GetCapturedStderr();
  }

  std::filesystem::path folder_
    = std::filesystem::path{::testing::TempDir()}
      / ("penstock_"
         + std::string{::testing::UnitTest::GetInstance()->current_test_info()->name()});
};

TEST_F(cluster_source_test, a_pattern_that_does_not_compile_is_named_with_its_line) {
  std::string text{cluster::default_cluster_toml()};
  auto line = 2 + std::count(text.begin(), text.end(), '\n');
  auto file = write("c.toml", text
                                + "[[guardrail.rule]]\nname = 'bad'\npattern = '(unclosed'\n"
                                  "[[guardrail.rule]]\nname = 'worse'\npattern = 'x{3,1}'\n");
  bool good = true;
  auto said = read(file, good);
  EXPECT_FALSE(good);
  EXPECT_THAT(said, HasSubstr("c.toml:" + std::to_string(line + 1)
                              + ":11: rule \"bad\": key "
                                "\"pattern\" does not compile: \"missing ): (unclosed\""));
  EXPECT_THAT(said, HasSubstr("c.toml:" + std::to_string(line + 4) + ":11: rule \"worse\""));
}

TEST_F(cluster_source_test, a_bad_pattern_in_a_rules_file_is_named_with_that_file) {
  write("rules.toml", "[[rule]]\nname = 'bad'\npattern = '['\n");
  std::string text{cluster::default_cluster_toml()};
  text.insert(text.find("[guardrail]\n") + 12, "rules = 'rules.toml'\n");
  auto file = write("c.toml", text);
  bool good = true;
  EXPECT_THAT(read(file, good), HasSubstr("rules.toml:3:11: rule \"bad\""));
  EXPECT_FALSE(good);
}

TEST_F(cluster_source_test, good_patterns_are_not_mentioned) {
  auto file = write("c.toml", std::string{cluster::default_cluster_toml()}
                                + "[[guardrail.rule]]\nname = 'good'\npattern = '(?i)key[0-9]+'\n");
  bool good = false;
  EXPECT_EQ(read(file, good), "");
  EXPECT_TRUE(good);
}

} // namespace
} // namespace penstock::apps
