#include "base/rng.hpp"
#include "model/byte_chars.hpp"
#include "model/detokenizer.hpp"
#include "model/utf8.hpp"
#include "model_test_support.hpp"

#include <gtest/gtest.h>

namespace penstock::model {
namespace {

using namespace testing;
using ids = std::vector<token_id>;

const std::string mark = "\xE2\x96\x81";

tokenizer made(const json& document) {
  auto out = tokenizer::parse(bytes_of(document.dump()), "tokenizer.json");
  EXPECT_TRUE(out) << out.err().text();
  return *std::move(out);
}

json fallback_document() {
  std::vector<std::string> vocab{"<s>", mark, mark + "a", "b", "\xC3\xA9", mark + mark};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    vocab.emplace_back(name);
  }
  json out = tokenizer_json(vocab, {});
  add_token(out, 0, "<s>");
  out["model"]["byte_fallback"] = true;
  return out;
}

// Strips one leading space after all else, as Llama files do.
tokenizer stripping() {
  json out = fallback_document();
  out["decoder"] = {{"type", "Sequence"},
                    {"decoders",
                     {{{"type", "Replace"}, {"pattern", {{"String", mark}}}, {"content", " "}},
                      {{"type", "ByteFallback"}},
                      {{"type", "Fuse"}},
                      {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};
  return made(out);
}

tokenizer metaspaced() {
  json out = fallback_document();
  out["decoder"]
    = {{"type", "Sequence"},
       {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Metaspace"}, {"replacement", mark}}}}};
  return made(out);
}

// One token per byte, and one of two.
tokenizer byte_level() {
  std::vector<std::string> vocab;
  for (int byte = 0; byte < 256; ++byte) {
    std::string token;
    append_byte_chars(token, std::string(1, static_cast<char>(byte)));
    vocab.push_back(token);
  }
  std::string pair;
  append_byte_chars(pair, "\xA9\xF0");
  vocab.push_back(pair);
  json out = tokenizer_json(vocab, {});
  out["decoder"] = {{"type", "ByteLevel"}};
  add_token(out, 257, "<s>");
  return made(out);
}

TEST(detokenizer, holds_a_character_back_until_it_is_whole) {
  const tokenizer t = byte_level();
  detokenizer out{t};
  EXPECT_EQ(out.push('a'), "a");
  EXPECT_EQ(out.push(0xF0), "");
  EXPECT_EQ(out.push(0x9F), "");
  EXPECT_EQ(out.push(0xA6), "");
  EXPECT_EQ(out.push(0x99), "\xF0\x9F\xA6\x99");
  EXPECT_EQ(out.flush(), "");
}

TEST(detokenizer, says_when_it_is_within_a_character) {
  const tokenizer t = byte_level();
  detokenizer out{t};
  (void)out.push('a');
  EXPECT_FALSE(out.is_mid_character());
  (void)out.push(0xC3);
  EXPECT_TRUE(out.is_mid_character());
  (void)out.push(0xA9);
  EXPECT_FALSE(out.is_mid_character());
  (void)out.push(0xC3);
  (void)out.flush();
  EXPECT_FALSE(out.is_mid_character());
}

TEST(detokenizer, marks_a_broken_character_once) {
  const tokenizer t = byte_level();
  detokenizer out{t};
  EXPECT_EQ(out.push(0xE4), "");
  EXPECT_EQ(out.push(0xB8), "");
  EXPECT_EQ(out.push('a'), "\xEF\xBF\xBD"
                           "a");
  EXPECT_EQ(out.push(0xE4), "");
  EXPECT_EQ(out.flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(out.flush(), "");
}

TEST(detokenizer, drops_the_space_at_the_start_only) {
  const tokenizer t = stripping();
  detokenizer fresh{t};
  EXPECT_EQ(fresh.push(2), "a");
  EXPECT_EQ(fresh.push(2), " a");
  detokenizer with_prompt{t};
  with_prompt.skip(ids{0, 2});
  EXPECT_EQ(with_prompt.push(2), " a");
}

TEST(detokenizer, finishes_a_character_that_the_prompt_began) {
  const tokenizer t = byte_level();
  detokenizer out{t};
  out.skip(ids{'x', 0xC3});
  EXPECT_EQ(out.push(0xA9), "\xC3\xA9");
}

// All pushes and the flush are what decoding everything at once gives, whatever the ids, and
// whatever part of them is a prompt; no piece holds half a character.
void expect_streams_like_decode(const tokenizer& t, uint64_t seed) {
  rng draws{seed};
  for (int round = 0; round < 4000; ++round) {
    ids all(draws.below(12));
    for (token_id& id : all)
      id = static_cast<token_id>(draws.below(t.id_limit() + 2));
    if (draws.below(2) == 0) // More bytes that may begin or go on with a character.
      for (token_id& id : all)
        id = id % 3 == 0 ? id : t.id_limit() - 1 - static_cast<token_id>(draws.below(130));
    const decode_options options{.skip_special = draws.below(2) == 0};
    const size_t prompt = draws.below(all.size() + 1);
    detokenizer whole{t, options};
    std::string streamed;
    detokenizer after{t, options};
    after.skip(std::span{all}.first(prompt));
    std::string answer;
    std::string before;
    for (size_t i = 0; i < all.size(); ++i) {
      const std::string piece = whole.push(all[i]);
      ASSERT_FALSE(find_invalid_utf8(piece));
      streamed += piece;
      if (i < prompt)
        before += piece;
      else
        answer += after.push(all[i]);
    }
    streamed += whole.flush();
    answer += after.flush();
    ASSERT_EQ(streamed, t.decode(all, options)) << "round " << round;
    ASSERT_EQ(before + answer, streamed) << "round " << round;
  }
}

TEST(detokenizer, streams_like_decode_with_byte_fallback) {
  expect_streams_like_decode(stripping(), 1);
  expect_streams_like_decode(metaspaced(), 2);
}

TEST(detokenizer, streams_like_decode_with_byte_level) {
  expect_streams_like_decode(byte_level(), 3);
}

TEST(byte_chars, spell_every_byte_and_nothing_else) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  std::string spelt;
  append_byte_chars(spelt, all);
  EXPECT_FALSE(find_invalid_utf8(spelt));
  EXPECT_EQ(bytes_of_chars(spelt), all);
  EXPECT_EQ(spelt.substr(0, 2), "\xC4\x80");               // Byte 0 is U+0100,
  EXPECT_NE(spelt.find("\xC4\xA0!\""), std::string::npos); // space U+0120, then "!" itself.
  EXPECT_FALSE(byte_of_char(' '));
  EXPECT_FALSE(byte_of_char(0x144));
  EXPECT_EQ(byte_of_char(0x143), 0xAD);
  EXPECT_FALSE(bytes_of_chars("a b"));
}

} // namespace
} // namespace penstock::model
