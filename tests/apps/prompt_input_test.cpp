#include "apps/prompt_input.hpp"
#include "base/limits.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace penstock::apps {
namespace {

using ids = std::vector<token_id>;

TEST(prompt_input, takes_the_argument_as_it_is) {
  std::istringstream in{"not this"};
  EXPECT_EQ(*prompt_from("--max-tokens", in), "--max-tokens");
  EXPECT_EQ(*prompt_from("", in), "");
}

TEST(prompt_input, reads_stdin_byte_for_byte_for_a_dash) {
  std::string text{"a\n\0b\r\n ", 7};
  std::istringstream in{text};
  EXPECT_EQ(*prompt_from("-", in), text);
}

TEST(prompt_input, reads_more_than_one_part_and_refuses_past_the_limit) {
  std::istringstream long_one{std::string(200'000, 'x')};
  EXPECT_EQ(prompt_from("-", long_one)->size(), 200'000U);
  std::istringstream too_long{std::string(limits::prompt_bytes_max + 1, 'x')};
  EXPECT_EQ(read_all(too_long).err().code, errc::prompt_too_long);
}

TEST(prompt_input, parses_ids_with_any_separators) {
  EXPECT_EQ(*parse_token_ids("1,2,3"), (ids{1, 2, 3}));
  EXPECT_EQ(*parse_token_ids(" 1, 80 ,4294967295,"), (ids{1, 80, 4294967295}));
  EXPECT_EQ(*parse_token_ids(""), ids{});
}

TEST(prompt_input, names_what_is_no_id) {
  for (const char* text : {"1,x", "-1", "4294967296", "1.5", "1;2", "0x10"}) {
    auto parsed = parse_token_ids(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.err().code, errc::invalid_argument);
  }
  EXPECT_NE(parse_token_ids("1,seven").err().detail.find("id: 'seven'"), std::string::npos);
}

} // namespace
} // namespace penstock::apps
