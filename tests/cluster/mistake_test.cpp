#include "cluster/mistake.hpp"

#include <gtest/gtest.h>

namespace penstock::cluster {
namespace {

TEST(mistake, text_names_file_line_column_place_key_and_what_is_allowed) {
  mistake m{"cluster.toml",           {12, 8}, "node \"p0\"", "rol", "is unknown", "name, roles",
            "did you mean \"roles\"?"};
  EXPECT_EQ(to_text(m), "cluster.toml:12:8: node \"p0\": key \"rol\" is unknown; "
                        "did you mean \"roles\"? allowed: name, roles");
  m.hint = "do this";
  EXPECT_EQ(to_text(m), "cluster.toml:12:8: node \"p0\": key \"rol\" is unknown; do this; "
                        "allowed: name, roles");
  EXPECT_EQ(to_text(mistake{"c", {}, {}, {}, "is empty", {}, {}}), "c: is empty");
}

TEST(mistake, quotes_make_foreign_text_harmless) {
  EXPECT_EQ(in_quotes("a\nb\x1b\xff"), "\"a\\x0ab\\x1b\\xff\"");
  EXPECT_EQ(in_quotes("abcdef", 3), "\"abc...\"");
  EXPECT_EQ(in_quotes(""), "\"\"");
}

TEST(mistake, closest_finds_slips_and_nothing_far) {
  constexpr std::string_view words[] = {"name", "roles", "listen", "kv_memory"};
  EXPECT_EQ(closest("rol", words), "roles");
  EXPECT_EQ(closest("lisetn", words), "listen");
  EXPECT_EQ(closest("kv_mem", words), "kv_memory");
  EXPECT_EQ(closest("nmae", words), "name");
  EXPECT_EQ(closest("temperature", words), "");
  EXPECT_EQ(closest("", words), "");
  EXPECT_EQ(closest(std::string(100'000, 'n'), words), "");
}

} // namespace
} // namespace penstock::cluster
