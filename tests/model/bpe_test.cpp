#include "base/rng.hpp"
#include "model/bpe.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace penstock::model {
namespace {

using ::testing::HasSubstr;

bpe_spec spec_of(const std::vector<std::string>& vocab,
                 std::vector<std::pair<std::string, std::string>> merges) {
  bpe_spec spec;
  for (const std::string& token : vocab)
    spec.vocab.emplace_back(token, static_cast<token_id>(spec.vocab.size()));
  spec.merges = std::move(merges);
  return spec;
}

// The texts of a word's tokens, or the error.
std::vector<std::string> tokens_of(const bpe_spec& spec, std::string_view word) {
  const auto words = bpe::create(spec, "t.json");
  if (!words)
    return {words.err().text()};
  std::vector<token_id> ids;
  if (const auto done = words->encode(word, ids); !done)
    return {done.err().text()};
  std::vector<std::string> out;
  for (const token_id id : ids)
    out.emplace_back(words->text_of(id));
  return out;
}

using texts = std::vector<std::string>;

TEST(bpe, merges_by_rank_not_by_position) {
  const auto spec = spec_of({"a", "b", "c", "bc", "ab"}, {{"b", "c"}, {"a", "b"}});
  EXPECT_EQ(tokens_of(spec, "abc"), (texts{"a", "bc"}));
  EXPECT_EQ(tokens_of(spec, "abab"), (texts{"ab", "ab"}));
  EXPECT_EQ(tokens_of(spec, ""), texts{});
}

TEST(bpe, merges_the_leftmost_of_equals) {
  const auto spec = spec_of({"a", "aa", "aaaa"}, {{"a", "a"}, {"aa", "aa"}});
  EXPECT_EQ(tokens_of(spec, "aaa"), (texts{"aa", "a"}));
  EXPECT_EQ(tokens_of(spec, "aaaaaaa"), (texts{"aaaa", "aa", "a"}));
}

TEST(bpe, falls_back_to_bytes_then_to_unknown) {
  auto spec = spec_of({"<unk>", "a", "<0xC3>", "<0xA9>"}, {});
  spec.unk_token = "<unk>";
  EXPECT_EQ(tokens_of(spec, "a\xC3\xA9"), (texts{"a", "<unk>"}));
  spec.byte_fallback = true;
  EXPECT_EQ(tokens_of(spec, "a\xC3\xA9"), (texts{"a", "<0xC3>", "<0xA9>"}));
  EXPECT_EQ(tokens_of(spec, "bba"), (texts{"<unk>", "<unk>", "a"}));
  spec.fuse_unk = true;
  EXPECT_EQ(tokens_of(spec, "bbabb"), (texts{"<unk>", "a", "<unk>"}));
  spec.unk_token.clear();
  EXPECT_THAT(tokens_of(spec, "b")[0], HasSubstr("invalid_argument"));
}

TEST(bpe, takes_whole_words_if_merges_are_ignored) {
  auto spec = spec_of({"a", "b", "ab", "aba"}, {{"a", "b"}});
  EXPECT_EQ(tokens_of(spec, "aba"), (texts{"ab", "a"}));
  spec.ignore_merges = true;
  EXPECT_EQ(tokens_of(spec, "aba"), (texts{"aba"}));
  EXPECT_EQ(tokens_of(spec, "abab"), (texts{"ab", "ab"}));
}

TEST(bpe, decorates_symbols_with_prefix_and_suffix) {
  auto spec = spec_of({"a", "##b", "##b</w>", "ab</w>"}, {{"a", "##b</w>"}});
  spec.continuing_subword_prefix = "##";
  spec.end_of_word_suffix = "</w>";
  EXPECT_EQ(tokens_of(spec, "ab"), texts{"ab</w>"});
  EXPECT_EQ(tokens_of(spec, "abb"), (texts{"a", "##b", "##b</w>"}));
}

TEST(bpe, refuses_a_vocabulary_that_contradicts_itself) {
  auto spec = spec_of({"a", "b"}, {{"a", "b"}});
  EXPECT_THAT(tokens_of(spec, "")[0], HasSubstr("merge 0"));
  spec = spec_of({"a", "b"}, {});
  spec.unk_token = "<unk>";
  EXPECT_THAT(tokens_of(spec, "")[0], HasSubstr("unk_token"));
  spec = spec_of({"a", "b"}, {});
  spec.vocab[1].second = 0;
  EXPECT_THAT(tokens_of(spec, "")[0], HasSubstr("id 0: two tokens"));
  spec.vocab[1] = {"a", 1};
  EXPECT_THAT(tokens_of(spec, "")[0], HasSubstr("another id"));
  spec.vocab[1] = {"b", tokenizer_vocab_max};
  EXPECT_THAT(tokens_of(spec, "")[0], HasSubstr("ids from 0"));
  EXPECT_THAT(tokens_of(spec_of({}, {}), "")[0], HasSubstr("at least one"));
}

// The definition, quadratic: merge the pair of least rank, leftmost, until there is none.
texts merged_by_definition(const bpe_spec& spec, std::string_view word) {
  texts symbols;
  for (const char c : word)
    symbols.emplace_back(1, c);
  while (true) {
    size_t best_rank = spec.merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i)
      for (size_t rank = 0; rank < best_rank; ++rank)
        if (spec.merges[rank] == std::pair{symbols[i], symbols[i + 1]}) {
          best_rank = rank;
          best = i;
        }
    if (best_rank == spec.merges.size())
      return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
  }
}

TEST(bpe, does_what_the_definition_says_on_random_merges) {
  rng draws{11};
  for (int round = 0; round < 60; ++round) {
    bpe_spec spec = spec_of({"a", "b", "c"}, {});
    for (int i = 0; i < 25; ++i) {
      const std::string left = spec.vocab[draws.below(spec.vocab.size())].first;
      const std::string right = spec.vocab[draws.below(spec.vocab.size())].first;
      const std::pair pair{left, right};
      if (std::find(spec.merges.begin(), spec.merges.end(), pair) != spec.merges.end())
        continue;
      spec.merges.push_back(pair);
      const auto known = [&](const auto& t) { return t.first == left + right; };
      if (std::none_of(spec.vocab.begin(), spec.vocab.end(), known))
        spec.vocab.emplace_back(left + right, static_cast<token_id>(spec.vocab.size()));
    }
    for (int i = 0; i < 20; ++i) {
      std::string word;
      for (size_t n = draws.below(40); n > 0; --n)
        word += static_cast<char>('a' + draws.below(3));
      ASSERT_EQ(tokens_of(spec, word), merged_by_definition(spec, word)) << round << " " << word;
    }
  }
}

TEST(bpe, merges_a_word_of_a_million_characters) {
  std::vector<std::string> vocab{"a"};
  std::vector<std::pair<std::string, std::string>> merges;
  while (vocab.back().size() < 1024) {
    merges.emplace_back(vocab.back(), vocab.back());
    vocab.push_back(vocab.back() + vocab.back());
  }
  const auto words = bpe::create(spec_of(vocab, merges), "t.json");
  ASSERT_TRUE(words);
  std::vector<token_id> ids;
  ASSERT_TRUE(words->encode(std::string(1U << 20U, 'a'), ids));
  EXPECT_EQ(ids, std::vector<token_id>(1024, 10));
}

} // namespace
} // namespace penstock::model
