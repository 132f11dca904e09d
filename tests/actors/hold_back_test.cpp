#include "actors/hold_back.hpp"
#include "base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::actors {
namespace {

using texts = std::vector<std::string>;
using ids = std::vector<token_id>;

ids ids_of(const hold_back::output& out) {
  ids all;
  for (const auto& t : out.tokens)
    all.push_back(t.id);
  return all;
}

/// Pushes tokens 0, 1, 2 ... with these texts. @returns What left in all.
hold_back::output push_all(hold_back& held, const texts& pieces) {
  for (size_t i = 0; i < pieces.size(); ++i)
    held.push({static_cast<token_id>(i), -1.0F}, pieces[i], false);
  return held.take();
}

TEST(hold_back, without_stop_strings_holds_nothing) {
  hold_back held{{}};
  held.push({7, -1.0F}, "", true); // Half a character: the id does not wait for it.
  EXPECT_EQ(ids_of(held.take()), (ids{7}));
  held.push({8, -1.0F}, "\xC3\xA4", false);
  auto out = held.take();
  EXPECT_EQ(out.text, "\xC3\xA4");
  EXPECT_EQ(ids_of(out), (ids{8}));
  held.finish("x");
  EXPECT_EQ(held.take().text, "x");
  EXPECT_FALSE(held.stopped());
}

TEST(hold_back, a_stop_string_split_over_tokens_leaks_no_character) {
  hold_back held{{"STOP"}};
  held.push({0, -1.0F}, "go S", false);
  auto out = held.take();
  EXPECT_EQ(out.text, "go ");
  EXPECT_TRUE(out.tokens.empty()); // It has a part in what may be the stop string.
  held.push({1, -1.0F}, "TO", false);
  EXPECT_TRUE(held.take().empty());
  held.push({2, -1.0F}, "P now", false);
  EXPECT_TRUE(held.take().empty());
  EXPECT_TRUE(held.stopped());
  EXPECT_EQ(held.token_count(), 0U);
  held.push({3, -1.0F}, "more", false);
  held.finish("and more");
  EXPECT_TRUE(held.take().empty());
}

TEST(hold_back, what_turns_out_to_be_no_stop_string_leaves_at_once) {
  hold_back held{{"STOP"}};
  EXPECT_EQ(push_all(held, {"a", " ", "S", "T", "O"}).text, "a ");
  held.push({5, -1.0F}, "S", false);
  auto out = held.take();
  EXPECT_EQ(out.text, "STO");
  EXPECT_EQ(ids_of(out), (ids{2, 3, 4}));
  held.finish("");
  out = held.take();
  EXPECT_EQ(out.text, "S");
  EXPECT_EQ(ids_of(out), (ids{5}));
  EXPECT_EQ(held.token_count(), 6U);
}

TEST(hold_back, tokens_before_the_stop_string_stay_and_those_with_a_part_in_it_go) {
  hold_back held{{"\n\n"}};
  auto out = push_all(held, {"one", "", "\n", "", "\ntwo", "three"});
  EXPECT_EQ(out.text, "one");
  EXPECT_EQ(ids_of(out), (ids{0, 1})); // The second has no text, and no part in the stop.
  EXPECT_EQ(held.token_count(), 2U);
}

TEST(hold_back, a_token_with_half_the_first_character_of_a_stop_string_has_a_part_in_it) {
  hold_back held{{"\xC3\xA4"}};
  held.push({0, -1.0F}, "x", false);
  held.push({1, -1.0F}, "y", true); // And the first byte of the stop string.
  EXPECT_EQ(ids_of(held.take()), (ids{0}));
  held.push({2, -1.0F}, "\xC3\xA4z", false);
  EXPECT_TRUE(held.stopped());
  EXPECT_TRUE(held.take().empty());
}

TEST(hold_back, a_half_character_that_becomes_another_lets_its_token_go) {
  hold_back held{{"\xC3\xA4"}};
  held.push({1, -1.0F}, "", true);
  EXPECT_TRUE(held.take().empty());
  held.push({2, -1.0F}, "\xC3\xB6", false);
  EXPECT_EQ(ids_of(held.take()), (ids{1, 2}));
}

TEST(hold_back, the_detokenizers_rest_may_complete_a_stop_string) {
  hold_back held{{"a\xEF\xBF\xBD"}};
  held.push({0, -1.0F}, "xa", true);
  EXPECT_EQ(held.take().text, "x");
  held.finish("\xEF\xBF\xBD");
  EXPECT_TRUE(held.stopped());
  EXPECT_TRUE(held.take().empty());
}

TEST(hold_back, the_first_complete_stop_string_counts_and_of_equals_the_longest) {
  for (const auto& [stops, text, left] : std::vector<std::tuple<texts, std::string, std::string>>{
         {{"b", "ab"}, "xab", "x"},
         {{"abcd", "bc"}, "xabcd", "xa"},
         {{"aab"}, "aaab", "a"},
         {{"abab", "bb"}, "aababb", "a"},
       }) {
    hold_back whole{stops};
    EXPECT_EQ(push_all(whole, {text}).text, left);
    EXPECT_TRUE(whole.stopped());
  }
}

TEST(hold_back, says_what_waits_and_since_which_byte) {
  using reason = hold_back::reason;
  hold_back held{{"stop", "pop"}};
  EXPECT_EQ(held.waiting(), (hold_back::wait{}));
  held.push({1}, "ab", false);
  EXPECT_EQ(held.waiting().why, reason::none);
  held.push({2}, "", true);
  EXPECT_EQ(held.waiting(), (hold_back::wait{reason::utf8, 2}));
  held.push({3}, "", true); // The same character goes on.
  EXPECT_EQ(held.waiting(), (hold_back::wait{reason::utf8, 2}));
  held.push({4}, "\xC3\xA4st", false);
  EXPECT_EQ(held.waiting(), (hold_back::wait{reason::stop_string, 4}));
  held.push({5}, "o", false);
  EXPECT_EQ(held.waiting(), (hold_back::wait{reason::stop_string, 4}));
  held.push({6}, "s", false); // "sto" was none, "s" is another beginning.
  EXPECT_EQ(held.waiting(), (hold_back::wait{reason::stop_string, 7}));
  held.push({7}, "top", false);
  EXPECT_TRUE(held.stopped());
  EXPECT_EQ(held.waiting().why, reason::none);
}

TEST(hold_back, counts_the_tokens_that_will_never_leave) {
  hold_back held{{"stop"}};
  held.push({1}, "a", false);
  held.push({2}, "bst", false);
  held.push({3}, "o", false);
  EXPECT_EQ(held.dropped_count(), 0U);
  held.push({4}, "p", false);
  held.push({5}, "more", false);
  EXPECT_EQ(held.token_count(), 1U);
  EXPECT_EQ(held.dropped_count(), 4U);
}

/// Where the answer ends, found plainly; npos: nowhere.
size_t stop_start(const texts& stops, const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    auto start = std::string::npos;
    for (const auto& stop : stops)
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0)
        start = std::min(start, end - stop.size());
    if (start != std::string::npos)
      return start;
  }
  return std::string::npos;
}

/// Bytes that could still become part of a stop string, found plainly.
size_t must_wait(const texts& stops, const std::string& text) {
  for (size_t from = 0; from < text.size(); ++from)
    for (const auto& stop : stops)
      if (stop.size() > text.size() - from && stop.starts_with(text.substr(from)))
        return text.size() - from;
  return 0;
}

TEST(hold_back, property_no_leak_and_nothing_held_longer_than_needed) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    rng draw{seed};
    auto word = [&draw](size_t size) {
      std::string out(size, 'a');
      for (auto& c : out)
        c = static_cast<char>('a' + draw.below(2));
      return out;
    };
    texts stops(1 + draw.below(3));
    for (auto& stop : stops)
      stop = word(2 + draw.below(5));
    hold_back held{stops};
    std::string all, left;
    std::vector<size_t> ends;
    size_t tokens_left = 0;
    for (token_id id = 0; id < 30; ++id) {
      auto piece = word(draw.below(4));
      all += piece;
      ends.push_back(all.size());
      held.push({id, -1.0F}, piece, false);
      auto out = held.take();
      left += out.text;
      for (const auto& t : out.tokens)
        ASSERT_EQ(t.id, tokens_left++);
      auto start = stop_start(stops, all);
      ASSERT_EQ(held.stopped(), start != std::string::npos);
      auto until = held.stopped() ? start : all.size() - must_wait(stops, all);
      ASSERT_EQ(left, all.substr(0, until));
      ASSERT_EQ(static_cast<ptrdiff_t>(tokens_left),
                std::count_if(ends.begin(), ends.end(), [=](size_t e) { return e <= until; }));
      ASSERT_EQ(held.token_count(), tokens_left);
    }
    held.finish("");
    if (!held.stopped()) {
      EXPECT_EQ(left + held.take().text, all);
      EXPECT_EQ(held.token_count(), 30U);
    }
  }
}

} // namespace
} // namespace penstock::actors
