#include "model/normalizer.hpp"

#include <gmock/gmock.h>

namespace penstock::model {
namespace {

std::string normalized(const std::vector<normalizer_step>& steps, std::string_view text) {
  const auto stage = normalizer::create(steps);
  if (!stage)
    return stage.err().text();
  const auto out = stage->apply(text);
  return out ? *out : out.err().text();
}

TEST(normalizer, knows_the_four_unicode_forms) {
  const std::string composed = "\xC3\xA9";     // e with acute.
  const std::string decomposed = "e\xCC\x81";  // e, combining acute.
  const std::string ligature = "\xEF\xAC\x81"; // fi.
  EXPECT_EQ(normalize_unicode(decomposed, unicode_form::nfc), composed);
  EXPECT_EQ(normalize_unicode(composed, unicode_form::nfd), decomposed);
  EXPECT_EQ(normalize_unicode(ligature, unicode_form::nfc), ligature);
  EXPECT_EQ(normalize_unicode(ligature, unicode_form::nfkc), "fi");
  EXPECT_EQ(normalize_unicode(composed + ligature, unicode_form::nfkd), decomposed + "fi");
  EXPECT_EQ(normalize_unicode("\xE1\x84\x80\xE1\x85\xA1", unicode_form::nfc), "\xEA\xB0\x80");
  EXPECT_EQ(normalize_unicode("plain", unicode_form::nfkc), "plain");
  EXPECT_EQ(normalize_unicode("", unicode_form::nfc), "");
}

TEST(normalizer, orders_marks_by_class_and_keeps_equals) {
  // Acute (230) before dot below (220): the dot comes first; two of one class stay as they are.
  EXPECT_EQ(normalize_unicode("q\xCC\x81\xCC\xA3", unicode_form::nfd), "q\xCC\xA3\xCC\x81");
  EXPECT_EQ(normalize_unicode("q\xCC\x81\xCC\x80", unicode_form::nfd), "q\xCC\x81\xCC\x80");
}

TEST(normalizer, a_million_marks_are_no_hang) {
  std::string text = "a";
  for (int i = 0; i < 500'000; ++i)
    text += "\xCC\x81\xCC\xA3";
  const std::string sorted = normalize_unicode(text, unicode_form::nfd);
  EXPECT_EQ(sorted.size(), text.size());
  EXPECT_EQ(sorted.substr(0, 5), "a\xCC\xA3\xCC\xA3");
}

TEST(normalizer, prepends_to_every_text_but_the_empty_one) {
  EXPECT_EQ(normalized({prepend_step{"_"}}, "a"), "_a");
  EXPECT_EQ(normalized({prepend_step{"_"}}, ""), "");
}

TEST(normalizer, replaces_by_pattern_in_order) {
  EXPECT_EQ(normalized({prepend_step{"_"}, replace_step{quoted_pattern(" "), "_"}}, " a b"),
            "__a_b");
  EXPECT_EQ(normalized({replace_step{" {2,}", "+"}}, "a b   c"), "a b+c");
  EXPECT_THAT(normalized({replace_step{"[", ""}}, ""), ::testing::HasSubstr("regular expression"));
}

} // namespace
} // namespace penstock::model
