#include "model/utf8.hpp"

#include <gtest/gtest.h>

namespace penstock::model {
namespace {

TEST(utf8, every_scalar_value_survives_the_way_there_and_back) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c == 0xD800)
      c = 0xE000;
    std::string text;
    append_utf8(text, c);
    ASSERT_EQ(text.size(), utf8_length_of(text[0]));
    ASSERT_EQ(utf8_code_point(text, 0), c);
    ASSERT_FALSE(find_invalid_utf8(text));
  }
}

TEST(utf8, finds_the_first_bad_byte) {
  const std::pair<std::string, size_t> bad[] = {{"\x80", 0},
                                                {"abc\xFF", 3},
                                                {"0123456789\xC3", 10},
                                                {"\xC0\xAF", 0},         // Overlong.
                                                {"\xE0\x80\x80", 0},     // Overlong.
                                                {"a\xED\xA0\x80", 1},    // A surrogate.
                                                {"\xF4\x90\x80\x80", 0}, // Over U+10FFFF.
                                                {"\xC3\xA9\xE4\xB8x", 2}};
  for (const auto& [text, offset] : bad)
    EXPECT_EQ(find_invalid_utf8(text), offset);
  EXPECT_FALSE(find_invalid_utf8(""));
  EXPECT_FALSE(find_invalid_utf8("caf\xC3\xA9 \xF0\x9F\xA6\x99 plain text again"));
}

TEST(utf8, repairs_one_mark_per_maximal_part) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(to_valid_utf8("a\xFF"
                          "b"),
            "a" + mark + "b");
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\xA6"), mark); // One unfinished character.
  EXPECT_EQ(to_valid_utf8("\xF0\x9F\xA6"
                          "a"),
            mark + "a");
  EXPECT_EQ(to_valid_utf8("\xED\xA0\x80"), mark + mark + mark); // Nothing may begin so.
  EXPECT_EQ(to_valid_utf8("\xE4\xB8\xE4\xB8\xAD"), mark + "\xE4\xB8\xAD");
  EXPECT_EQ(to_valid_utf8("\xC3\xA9"), "\xC3\xA9");
}

TEST(utf8, knows_what_may_still_become_a_character) {
  EXPECT_EQ(incomplete_utf8_tail(""), 0u);
  EXPECT_EQ(incomplete_utf8_tail("abc"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("a\xC3"), 1u);
  EXPECT_EQ(incomplete_utf8_tail("a\xE4\xB8"), 2u);
  EXPECT_EQ(incomplete_utf8_tail("\xF0\x9F\xA6"), 3u);
  EXPECT_EQ(incomplete_utf8_tail("\xC3\xA9"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("\xED\xA0"), 0u); // Can become nothing.
  EXPECT_EQ(incomplete_utf8_tail("\x80\x80\x80\x80"), 0u);
  EXPECT_EQ(incomplete_utf8_tail("\xC3\xA9\xA9"), 0u);
}

// Cut anywhere: the repaired final part and the repaired rest are the repaired whole.
TEST(utf8, cutting_before_the_tail_changes_no_repair) {
  const char alphabet[] = {'a',    '\x80', '\xA0', '\xBF', '\xC3', '\xE0', '\xE4',
                           '\xED', '\xF0', '\xF4', '\x9F', '\x90', '\xFF'};
  for (uint32_t code = 0; code < 13 * 13 * 13 * 13 * 13; ++code) {
    std::string text;
    for (uint32_t rest = code, i = 0; i < 5; ++i, rest /= 13)
      text += alphabet[rest % 13];
    for (size_t cut = 0; cut <= text.size(); ++cut) {
      const size_t final_bytes = cut - incomplete_utf8_tail(std::string_view{text}.substr(0, cut));
      ASSERT_EQ(to_valid_utf8(std::string_view{text}.substr(0, final_bytes))
                  + to_valid_utf8(std::string_view{text}.substr(final_bytes)),
                to_valid_utf8(text));
    }
  }
}

} // namespace
} // namespace penstock::model
