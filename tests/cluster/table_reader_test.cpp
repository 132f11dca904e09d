#include "cluster/table_reader.hpp"

#include <gtest/gtest.h>

namespace penstock::cluster {
namespace {

TEST(table_reader, parses_sizes_with_and_without_units) {
  EXPECT_EQ(parse_size("512"), 512U);
  EXPECT_EQ(parse_size("64KiB"), 65536U);
  EXPECT_EQ(parse_size("64 MiB"), uint64_t{64} << 20U);
  EXPECT_EQ(parse_size("2GiB"), uint64_t{2} << 30U);
  for (std::string_view bad : {"", "MiB", "1.5MiB", "-1", "64MB", "64mib", "1MiB ",
                               "18446744073709551616", "18446744073709551615KiB"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(table_reader, size_text_uses_the_largest_unit_that_is_exact) {
  EXPECT_EQ(size_text(uint64_t{3} << 30U), "3 GiB");
  EXPECT_EQ(size_text(65536), "64 KiB");
  EXPECT_EQ(size_text(4097), "4097 bytes");
  EXPECT_EQ(size_text(0), "0 bytes");
}

TEST(table_reader, a_wrong_value_leaves_the_default_and_is_reported) {
  auto parsed = toml::parse("n = 'x'\nb = 3\ns = [1, 'two']\nt = \"a\\u0007b\"\n");
  ASSERT_TRUE(parsed);
  findings out{"f", {}, {}};
  table_reader in{parsed.table(), "[x]", out};
  uint32_t number = 7;
  in.number("n", number, 0, 9);
  std::vector<uint32_t> numbers{5};
  in.numbers("s", numbers, 4, 9);
  std::string text = "default";
  in.text("t", text, 10);
  in.text("b", text, 10);
  in.finish();
  EXPECT_EQ(number, 7U);
  EXPECT_EQ(numbers, std::vector<uint32_t>{5});
  EXPECT_EQ(text, "default");
  EXPECT_EQ(out.mistakes.size(), 4U);
}

TEST(table_reader, keys_never_asked_for_are_unknown) {
  auto parsed = toml::parse("known = 1\nother = 2\n");
  ASSERT_TRUE(parsed);
  findings out{"f", {}, {}};
  table_reader in{parsed.table(), "[x]", out};
  uint32_t number = 0;
  in.number("known", number, 0, 9);
  in.finish();
  ASSERT_EQ(out.mistakes.size(), 1U);
  EXPECT_EQ(to_text(out.mistakes[0]), "f:2:1: [x]: key \"other\" is unknown; allowed: known");
}

} // namespace
} // namespace penstock::cluster
