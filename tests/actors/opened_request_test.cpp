// Against the tokenizer of the built-in model.
#include "actors/opened_request.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace penstock::actors {
namespace {

using ::testing::HasSubstr;
using ids = std::vector<token_id>;

class opened_request_test : public testing::Test {
protected:
  static constexpr uint32_t context = 64;

  static const model::tokenizer& tokens() {
    static const auto all
      = model::tokenizer::open(PENSTOCK_SOURCE_DIR "/model/builtin/tokenizer.json");
    EXPECT_TRUE(all);
    return *all;
  }
  static generate_request text(std::string prompt, std::string reply_prefix = {}) {
    generate_request r;
    r.prompt = std::move(prompt);
    r.reply_prefix = std::move(reply_prefix);
    return r;
  }
  static ids prompt_of(const generate_request& r) {
    auto opened = open_request(r, tokens(), context);
    EXPECT_TRUE(opened) << opened.err().text();
    return opened ? opened->prompt : ids{};
  }
  static ids encoded(const std::string& what, model::encode_options how = {}) {
    return *tokens().encode(what, how);
  }
};

TEST_F(opened_request_test, prompt_and_beginning_of_the_reply_are_one_text) {
  EXPECT_EQ(prompt_of(text("The old pri", "nce said")), encoded("The old prince said"));
  EXPECT_EQ(prompt_of(text("", "The old prince")), encoded("The old prince"));
  EXPECT_EQ(prompt_of(text("The old prince")), encoded("The old prince"));
  auto raw = text("The old pri", "nce");
  raw.raw = true;
  EXPECT_EQ(prompt_of(raw), encoded("The old prince", {.add_special = false}));
  EXPECT_EQ(open_request(text("The old pri", "nce"), tokens(), context)->text, "The old prince");
}

TEST_F(opened_request_test, after_ids_the_reply_goes_on_without_anything_between) {
  generate_request r;
  r.prompt_ids = encoded("The old");
  EXPECT_EQ(prompt_of(r), r.prompt_ids);
  r.reply_prefix = " prince";
  auto expected = r.prompt_ids;
  for (auto id : encoded(" prince", {.add_special = false, .at_start = false}))
    expected.push_back(id);
  EXPECT_EQ(prompt_of(r), expected);
  EXPECT_THAT(open_request(r, tokens(), context)->text, HasSubstr("The old prince"));
}

TEST_F(opened_request_test, names_the_field_the_value_and_the_limit) {
  const auto limit = std::to_string(tokens().id_limit());
  auto salt = text("a");
  salt.cache_salt = "ab\xFF";
  auto stop = text("a");
  stop.stop_strings = {"fine", "x\xC3"};
  auto stop_id = text("a");
  stop_id.sampling.stop_ids = {1, tokens().id_limit()};
  generate_request id;
  id.prompt_ids = {5, 6, 4'000'000'000};
  generate_request prefix_after_ids;
  prefix_after_ids.prompt_ids = {5};
  prefix_after_ids.reply_prefix = "\xE2\x82";
  const std::pair<generate_request, std::string> cases[] = {
    {text("caf\xC3"), "prompt is not UTF-8 at byte 3"},
    {text("a", "b\x80"), "reply_prefix is not UTF-8 at byte 1"},
    {prefix_after_ids, "reply_prefix is not UTF-8 at byte 0"},
    {salt, "cache_salt is not UTF-8 at byte 2"},
    {stop, "stop_strings[1] is not UTF-8 at byte 1"},
    {stop_id, "stop_ids[1] is " + limit + ", not below the vocabulary's " + limit},
    {id, "prompt_ids[2] is 4000000000, not below the vocabulary's " + limit},
  };
  for (const auto& [request, detail] : cases) {
    auto opened = open_request(request, tokens(), context);
    ASSERT_FALSE(opened) << detail;
    EXPECT_EQ(opened.err().code, errc::invalid_argument);
    EXPECT_EQ(opened.err().detail, detail);
  }
}

TEST_F(opened_request_test, a_prompt_needs_a_token_and_room_for_one) {
  EXPECT_EQ(open_request(text(""), tokens(), context).err().code, errc::prompt_empty);
  generate_request r;
  r.prompt_ids = ids(context - 1, 5);
  EXPECT_EQ(prompt_of(r).size(), context - 1);
  r.reply_prefix = "a"; // Counts as prompt.
  auto over = open_request(r, tokens(), context);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.err().code, errc::prompt_too_long);
  EXPECT_THAT(over.err().detail, HasSubstr("64 tokens"));
  EXPECT_THAT(over.err().detail, HasSubstr("holds 64"));
}

TEST(cache_scope, differs_for_every_pair_of_tenant_and_salt) {
  const std::pair<const char*, const char*> pairs[]
    = {{"", ""},      {"a", ""},    {"", "a"},        {"a", "bc"},  {"ab", "c"}, {"a", "b"},
       {"", "t1:a"},  {"t1", ":a"}, {"", "t1:as1:b"}, {"as1", "b"}, {"1", "a"},  {"a", "s1:b"},
       {"s1.b", "a"}, {"", "s1:a"}, {"abc", ""},      {"", "abc"}};
  std::set<std::string> scopes;
  for (const auto& [tenant, salt] : pairs) {
    generate_request r;
    r.tenant = tenant;
    r.cache_salt = salt;
    EXPECT_TRUE(scopes.insert(cache_scope_of(r, true)).second) << tenant << ' ' << salt;
    EXPECT_LE(cache_scope_of(r, true).size(), 256U);
  }
}

TEST(cache_scope, heeds_the_tenant_only_if_told_and_the_salt_always) {
  generate_request one;
  one.tenant = "a";
  one.cache_salt = "x";
  auto other = one;
  other.tenant = "b";
  EXPECT_EQ(cache_scope_of(one, false), cache_scope_of(other, false));
  EXPECT_NE(cache_scope_of(one, true), cache_scope_of(other, true));
  other.cache_salt = "y";
  EXPECT_NE(cache_scope_of(one, false), cache_scope_of(other, false));
  EXPECT_EQ(cache_scope_of(generate_request{}, true), "");
}

} // namespace
} // namespace penstock::actors
