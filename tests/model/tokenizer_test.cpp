#include "base/limits.hpp"
#include "model/tokenizer.hpp"
#include "model_test_support.hpp"

#include <gmock/gmock.h>

namespace penstock::model {
namespace {

using ::testing::HasSubstr;
using namespace testing;
using ids = std::vector<token_id>;

const std::string mark = "\xE2\x96\x81"; // What SentencePiece writes for a space.

tokenizer made(const json& document) {
  auto out = tokenizer::parse(bytes_of(document.dump()), "tokenizer.json");
  EXPECT_TRUE(out) << out.err().text();
  return *std::move(out);
}

ids encoded(const tokenizer& t, std::string_view text, encode_options options = {}) {
  const auto out = t.encode(text, options);
  EXPECT_TRUE(out) << out.err().text();
  return out ? *out : ids{};
}

json special(const char* id) {
  return {{"SpecialToken", {{"id", id}, {"type_id", 0}}}};
}

json template_json() {
  return {
    {"type", "TemplateProcessing"},
    {"single", {special("<s>"), {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}, special("</s>")}},
    {"special_tokens",
     {{"<s>", {{"id", "<s>"}, {"ids", {0}}}}, {"</s>", {{"id", "</s>"}, {"ids", {1}}}}}}};
}

// SentencePiece style, as old Llama files have it: ids 0 <s>, 1 </s>, 2 "_", 3 a, 4 b, 5 "_a".
json sentencepiece() {
  json out = tokenizer_json({"<s>", "</s>", mark, "a", "b", mark + "a", "<0xC3>", "<0xA9>"},
                            {mark + " a"});
  add_token(out, 0, "<s>");
  add_token(out, 1, "</s>");
  out["model"]["byte_fallback"] = true;
  out["post_processor"] = template_json();
  out["normalizer"]
    = {{"type", "Sequence"},
       {"normalizers",
        {{{"type", "Prepend"}, {"prepend", mark}},
         {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", mark}}}}};
  out["decoder"] = {{"type", "Sequence"},
                    {"decoders",
                     {{{"type", "Replace"}, {"pattern", {{"String", mark}}}, {"content", " "}},
                      {{"type", "ByteFallback"}},
                      {{"type", "Fuse"}},
                      {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  return out;
}

json metaspace(const char* scheme, bool split) {
  json out = sentencepiece();
  out["normalizer"] = nullptr;
  out["pre_tokenizer"]
    = {{"type", "Metaspace"}, {"replacement", mark}, {"prepend_scheme", scheme}, {"split", split}};
  return out;
}

TEST(tokenizer, encodes_with_normalizer_marks) {
  const tokenizer t = made(sentencepiece());
  EXPECT_EQ(encoded(t, "a b"), (ids{0, 5, 2, 4, 1}));
  EXPECT_EQ(encoded(t, "a b", {.add_special = false}), (ids{5, 2, 4}));
  EXPECT_EQ(encoded(t, ""), (ids{0, 1}));
  EXPECT_EQ(encoded(t, "\xC3\xA9", {.add_special = false}), (ids{2, 6, 7}));
}

TEST(tokenizer, encodes_with_metaspace_marks) {
  EXPECT_EQ(encoded(made(metaspace("first", false)), "a b"), (ids{0, 5, 2, 4, 1}));
  EXPECT_EQ(encoded(made(metaspace("always", true)), "a b"), (ids{0, 5, 2, 4, 1}));
  EXPECT_EQ(encoded(made(metaspace("never", true)), "a b"), (ids{0, 3, 2, 4, 1}));
  // After a special token only `always` marks again.
  EXPECT_EQ(encoded(made(metaspace("first", false)), "a</s>a"), (ids{0, 5, 1, 3, 1}));
  EXPECT_EQ(encoded(made(metaspace("always", false)), "a</s>a"), (ids{0, 5, 1, 5, 1}));
}

TEST(tokenizer, encodes_text_that_goes_on_without_a_mark_before_it) {
  const encode_options goes_on{.add_special = false, .at_start = false};
  for (const auto& document :
       {sentencepiece(), metaspace("first", true), metaspace("always", true)}) {
    EXPECT_EQ(encoded(made(document), "a b", goes_on), (ids{3, 2, 4}));
    EXPECT_EQ(encoded(made(document), " a", goes_on), ids{5});
  }
  EXPECT_EQ(encoded(made(sentencepiece()), "a</s>a", goes_on), (ids{3, 1, 5}));
}

TEST(tokenizer, leaves_out_what_the_template_puts_after_the_text) {
  EXPECT_EQ(encoded(made(sentencepiece()), "a", {.after_text = false}), (ids{0, 5}));
}

TEST(tokenizer, reads_both_forms_of_merges_and_a_version_line) {
  json document = sentencepiece();
  document["model"]["merges"] = json::array({json::array({mark, "a"})});
  EXPECT_EQ(encoded(made(document), "a"), (ids{0, 5, 1}));
  document["model"]["merges"] = {"#version: 0.2", mark + " a"};
  EXPECT_EQ(encoded(made(document), "a"), (ids{0, 5, 1}));
}

TEST(tokenizer, takes_special_text_as_text_if_told_so) {
  json document = sentencepiece();
  for (const char* c : {"<", "/", "s", ">"})
    document["model"]["vocab"][c] = document["model"]["vocab"].size();
  const tokenizer t = made(document);
  EXPECT_EQ(encoded(t, "</s>", {.add_special = false}), ids{1});
  EXPECT_EQ(encoded(t, "</s>", {.add_special = false, .parse_special = false}),
            (ids{2, 8, 9, 10, 11}));
}

TEST(tokenizer, finds_the_longest_added_token) {
  json document = tokenizer_json({"a", "b", "c", " "}, {});
  add_token(document, 4, "ab");
  add_token(document, 5, "abc");
  EXPECT_EQ(encoded(made(document), "abcab a"), (ids{5, 4, 3, 0}));
}

TEST(tokenizer, heeds_the_flags_of_added_tokens) {
  json document = tokenizer_json({"a", "b", " ", "e", "\xC3\xA9"}, {});
  document["normalizer"] = {{"type", "NFC"}};
  add_token(document, 10, "<l>", {{"lstrip", true}});
  add_token(document, 11, "<r>", {{"rstrip", true}});
  add_token(document, 12, "bb", {{"single_word", true}});
  add_token(document, 13, "a\xC3\xA9", {{"normalized", true}, {"special", false}});
  const tokenizer t = made(document);
  EXPECT_EQ(encoded(t, "a  <l> a"), (ids{0, 10, 2, 0}));
  EXPECT_EQ(encoded(t, "a <r>  a"), (ids{0, 2, 11, 0}));
  EXPECT_EQ(encoded(t, "<r> <l>"), (ids{11, 10}));
  EXPECT_EQ(encoded(t, "bb abb bb"), (ids{12, 2, 0, 1, 1, 2, 12}));
  EXPECT_EQ(encoded(t, "ae\xCC\x81"), ids{13}); // Found once NFC has composed it.
}

TEST(tokenizer, decodes_with_or_without_special_tokens) {
  const tokenizer t = made(sentencepiece());
  EXPECT_EQ(t.decode(ids{0, 5, 2, 4, 1}), "a b");
  EXPECT_EQ(t.decode(ids{0, 5, 1}, {.skip_special = false}), "<s> a</s>");
  EXPECT_EQ(t.decode(ids{2, 2, 3}), " a"); // One space is dropped, not two.
  EXPECT_EQ(t.decode(ids{3, 6, 7, 99, 3}), "a\xC3\xA9"
                                           "a");
  EXPECT_EQ(t.decode(ids{3, 6, 3}), "a\xEF\xBF\xBD"
                                    "a");
  EXPECT_EQ(t.decode(ids{}), "");
}

TEST(tokenizer, answers_questions_about_its_tokens) {
  const tokenizer t = made(sentencepiece());
  EXPECT_EQ(t.find("</s>"), 1u);
  EXPECT_EQ(t.find("a"), 3u);
  EXPECT_FALSE(t.find("zzz"));
  EXPECT_EQ(t.text_of(4), "b");
  EXPECT_EQ(t.text_of(400), "");
  EXPECT_TRUE(t.is_special(0));
  EXPECT_FALSE(t.is_special(3));
  EXPECT_EQ(t.id_limit(), 8u);
}

TEST(tokenizer, refuses_text_that_is_not_utf8_and_says_where) {
  const auto out = made(sentencepiece()).encode("abc\xFFx");
  ASSERT_FALSE(out);
  EXPECT_EQ(out.err().code, errc::invalid_argument);
  EXPECT_THAT(out.err().detail, HasSubstr("byte 3"));
}

TEST(tokenizer, refuses_text_over_the_limit_and_takes_all_of_the_limit) {
  json document = tokenizer_json({"a", "aa"}, {"a a"});
  const tokenizer t = made(document);
  const auto out = t.encode(std::string(limits::prompt_bytes_max + 1, 'a'));
  ASSERT_FALSE(out);
  EXPECT_EQ(out.err().code, errc::prompt_too_long);
  EXPECT_EQ(encoded(t, std::string(limits::prompt_bytes_max, 'a')).size(),
            limits::prompt_bytes_max / 2);
}

std::string refusal(const json& document) {
  const auto out = tokenizer::parse(bytes_of(document.dump()), "tokenizer.json");
  return out ? "" : out.err().text();
}

TEST(tokenizer, refuses_components_it_does_not_know_by_name) {
  for (const char* stage : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    json document = sentencepiece();
    document[stage] = {{"type", "Mystery"}};
    EXPECT_THAT(refusal(document), HasSubstr("unsupported: tokenizer.json: " + std::string{stage}));
    EXPECT_THAT(refusal(document), HasSubstr("\"Mystery\" is not known"));
    document[stage] = {{"kind", "Mystery"}};
    EXPECT_THAT(refusal(document), HasSubstr("with a `type`"));
  }
  json document = sentencepiece();
  document["model"]["type"] = "Unigram";
  EXPECT_THAT(refusal(document), HasSubstr("\"Unigram\" is not known"));
  document = sentencepiece();
  document["model"]["dropout"] = 0.1;
  EXPECT_THAT(refusal(document), HasSubstr("dropout"));
  document = sentencepiece();
  document["normalizer"]["normalizers"].push_back({{"type", "Lowercase"}});
  EXPECT_THAT(refusal(document), HasSubstr("\"Lowercase\" is not known"));
}

TEST(tokenizer, refuses_values_of_the_wrong_kind) {
  const std::pair<const char*, json> bad[]
    = {{"/model/vocab", 3},
       {"/model/vocab/a", "x"},
       {"/model/vocab/a", 1U << 30U},
       {"/model/merges", {"a"}},
       {"/model/merges", {"a b c"}},
       {"/model/merges", {json::array({"a"})}},
       {"/model/merges", {"x y"}},
       {"/model/unk_token", 3},
       {"/model/byte_fallback", "yes"},
       {"/added_tokens", 3},
       {"/added_tokens/0", 3},
       {"/added_tokens/0/id", -1},
       {"/added_tokens/0/content", ""},
       {"/added_tokens/0/content", "other"},
       {"/added_tokens/0/special", 1},
       {"/normalizer/normalizers", 3},
       {"/normalizer/normalizers/1/pattern", "x"},
       {"/normalizer/normalizers/1/pattern", {{"Regex", "("}}},
       {"/post_processor/single", 3},
       {"/post_processor/single", json::array()},
       {"/post_processor/single/0/SpecialToken/id", "<none>"},
       {"/post_processor/special_tokens/<s>/ids", {4000}},
       {"/decoder/decoders", 3},
       {"/decoder/decoders/0/pattern", {{"Regex", "x"}}},
       {"/decoder/decoders/3/stop", 1},
       {"/decoder/decoders/3/content", ""}};
  for (const auto& [pointer, value] : bad) {
    json document = sentencepiece();
    document[json::json_pointer{pointer}] = value;
    EXPECT_THAT(refusal(document), HasSubstr("tokenizer.json")) << pointer << " " << value;
  }
}

TEST(tokenizer, refuses_broken_documents) {
  const std::string text = sentencepiece().dump();
  for (size_t size = 0; size < text.size(); size += 7)
    EXPECT_FALSE(tokenizer::parse(bytes_of(text.substr(0, size)), "t")) << size;
  EXPECT_FALSE(tokenizer::open("/nowhere/tokenizer.json"));
  EXPECT_EQ(refusal(sentencepiece()), "");
}

} // namespace
} // namespace penstock::model
