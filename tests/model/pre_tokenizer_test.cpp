#include "model/pre_tokenizer.hpp"

#include <gmock/gmock.h>

namespace penstock::model {
namespace {

using texts = std::vector<std::string>;

texts words_of(const std::vector<pre_tokenizer_step>& steps, std::string text,
               text_place at = text_place::start) {
  const auto stage = pre_tokenizer::create(steps);
  if (!stage)
    return {stage.err().text()};
  const auto list = stage->apply(std::move(text), at);
  if (!list)
    return {list.err().text()};
  texts out;
  for (size_t i = 0; i < list->words.size(); ++i)
    out.emplace_back((*list)[i]);
  return out;
}

texts split(split_behavior behavior, bool invert = false) {
  return words_of({split_step{"-", behavior, invert}}, "a--b-");
}

TEST(pre_tokenizer, without_steps_the_text_is_one_word) {
  EXPECT_EQ(words_of({}, "a b"), texts{"a b"});
  EXPECT_EQ(words_of({}, ""), texts{});
}

TEST(pre_tokenizer, does_with_matches_what_the_behavior_says) {
  EXPECT_EQ(split(split_behavior::removed), (texts{"a", "b"}));
  EXPECT_EQ(split(split_behavior::isolated), (texts{"a", "-", "-", "b", "-"}));
  EXPECT_EQ(split(split_behavior::merged_with_previous), (texts{"a-", "-", "b-"}));
  EXPECT_EQ(split(split_behavior::merged_with_next), (texts{"a", "-", "-b", "-"}));
  EXPECT_EQ(split(split_behavior::contiguous), (texts{"a", "--", "b", "-"}));
  EXPECT_EQ(split(split_behavior::removed, true), (texts{"-", "-", "-"}));
}

TEST(pre_tokenizer, empty_matches_cut_without_taking) {
  EXPECT_EQ(words_of({split_step{"(?=[A-Z])", split_behavior::isolated, false}}, "oneTwoThree"),
            (texts{"one", "Two", "Three"}));
}

TEST(pre_tokenizer, byte_level_splits_like_gpt2_and_spells_bytes) {
  EXPECT_EQ(words_of({byte_level_step{}}, "it's  12 caf\xC3\xA9!\n"), (texts{"it", "'s", "\xC4\xA0",
                                                                             "\xC4\xA0"
                                                                             "12",
                                                                             "\xC4\xA0"
                                                                             "caf\xC3\x83\xC2\xA9",
                                                                             "!", "\xC4\x8A"}));
  EXPECT_EQ(words_of({byte_level_step{true, true}}, "a b"), (texts{"\xC4\xA0"
                                                                   "a",
                                                                   "\xC4\xA0"
                                                                   "b"}));
  EXPECT_EQ(words_of({byte_level_step{false, false}}, "a b"), texts{"a\xC4\xA0"
                                                                    "b"});
}

TEST(pre_tokenizer, metaspace_marks_the_start_as_its_scheme_says) {
  const auto marked = [](prepend_scheme scheme, std::string text, text_place at) {
    return words_of({metaspace_step{"_", scheme, true}}, std::move(text), at);
  };
  const auto start = text_place::start;
  EXPECT_EQ(marked(prepend_scheme::always, "a b", text_place::inside), (texts{"_a", "_b"}));
  EXPECT_EQ(marked(prepend_scheme::first, "a b", start), (texts{"_a", "_b"}));
  EXPECT_EQ(marked(prepend_scheme::first, "a b", text_place::inside), (texts{"a", "_b"}));
  EXPECT_EQ(marked(prepend_scheme::never, "a b", start), (texts{"a", "_b"}));
  EXPECT_EQ(marked(prepend_scheme::always, " a", start), texts{"_a"});
  EXPECT_EQ(marked(prepend_scheme::always, "a  b", start), (texts{"_a", "_", "_b"}));
}

TEST(pre_tokenizer, puts_nothing_before_text_that_goes_on) {
  for (auto scheme : {prepend_scheme::always, prepend_scheme::first, prepend_scheme::never})
    EXPECT_EQ(words_of({metaspace_step{"_", scheme, true}}, "a b", text_place::continued),
              (texts{"a", "_b"}));
  EXPECT_EQ(words_of({byte_level_step{true, false}}, "ab", text_place::continued), texts{"ab"});
}

TEST(pre_tokenizer, steps_see_only_the_words_before_them) {
  // The look-ahead does not see past the digit that the first step has cut off.
  EXPECT_EQ(words_of({split_step{"\\p{N}", split_behavior::isolated, false},
                      split_step{"a(?!\\S)", split_behavior::isolated, false}},
                     "ba1"),
            (texts{"b", "a", "1"}));
}

TEST(text_pattern, refuses_what_does_not_compile) {
  EXPECT_THAT(words_of({split_step{"(", split_behavior::isolated, false}}, "a")[0],
              ::testing::HasSubstr("regular expression"));
  EXPECT_FALSE(text_pattern::compile(std::string(pattern_bytes_max + 1, 'a')));
}

TEST(text_pattern, gives_up_instead_of_hanging) {
  const auto words = words_of({split_step{"(a|aa)+$", split_behavior::isolated, false}},
                              std::string(5000, 'a') + "b");
  ASSERT_EQ(words.size(), 1u);
  EXPECT_THAT(words[0], ::testing::HasSubstr("gave up on the text"));
}

TEST(text_pattern, quoting_makes_any_text_literal) {
  const std::string odd = "a.*[x]\\E\n\xC3\xA9 (?i)#";
  const auto pattern = text_pattern::compile(quoted_pattern(odd));
  ASSERT_TRUE(pattern);
  std::vector<text_range> found;
  ASSERT_TRUE(pattern->find_all("--" + odd + "--", found));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].begin, 2u);
  EXPECT_EQ(found[0].end, 2 + odd.size());
}

} // namespace
} // namespace penstock::model
