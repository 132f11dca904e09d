#include "model/tokenizer.hpp"
#include "model_test_support.hpp"

#include <gtest/gtest.h>

namespace penstock::model {
namespace {

using namespace testing;
using ids = std::vector<token_id>;

std::vector<std::string> split_by(const std::string& text, const std::string& separator) {
  std::vector<std::string> out;
  size_t at = 0;
  for (size_t found = text.find(separator); found != std::string::npos;
       found = text.find(separator, at)) {
    out.push_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  out.push_back(text.substr(at));
  return out;
}

class qwen_vectors : public ::testing::Test {
protected:
  void SetUp() override {
    if (!fs::exists(shared_file("tokenizers/qwen3/tokenizer.json")))
      GTEST_SKIP() << "no tokenizers/qwen3 under " << PENSTOCK_SHARED_DIR;
    auto opened = tokenizer::open(shared_file("tokenizers/qwen3/tokenizer.json"));
    ASSERT_TRUE(opened) << opened.err().text();
    qwen = std::make_unique<tokenizer>(*std::move(opened));
  }
  std::unique_ptr<tokenizer> qwen;
};

TEST_F(qwen_vectors, all_47_cases_reproduce) {
  const auto cases
    = split_by(read_text(shared_file("tokenizers/vectors/ggml-vocab-qwen2.gguf.inp")),
               "\n__ggml_vocab_test__\n");
  const auto lines
    = split_by(read_text(shared_file("tokenizers/vectors/ggml-vocab-qwen2.gguf.out")), "\n");
  ASSERT_EQ(cases.size(), 47u);
  ASSERT_EQ(lines.size(), 47u);
  for (size_t i = 0; i < cases.size(); ++i) {
    ids expected;
    std::istringstream line{lines[i]};
    for (token_id id = 0; line >> id;)
      expected.push_back(id);
    const auto found = qwen->encode(cases[i]);
    ASSERT_TRUE(found) << found.err().text();
    EXPECT_EQ(*found, expected) << "case " << i << ": " << cases[i];
  }
}

TEST_F(qwen_vectors, special_tokens_are_found_first) {
  const auto found = qwen->encode("<|im_start|>user\nhi<|im_end|>");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front(), 151644u);
  EXPECT_EQ(found->back(), 151645u);
  EXPECT_EQ(qwen->decode(*found), "user\nhi");
  const auto as_text = qwen->encode("<|im_start|>", {.parse_special = false});
  ASSERT_TRUE(as_text);
  EXPECT_GT(as_text->size(), 1u);
  EXPECT_EQ(qwen->decode(*as_text), "<|im_start|>");
}

TEST_F(qwen_vectors, a_whole_book_survives_the_way_there_and_back) {
  const std::string text = read_text(shared_file("text/war-and-peace.txt"));
  if (text.empty())
    GTEST_SKIP() << "no text/war-and-peace.txt under " << PENSTOCK_SHARED_DIR;
  const auto found = qwen->encode(text);
  ASSERT_TRUE(found);
  EXPECT_EQ(qwen->decode(*found), text);
}

} // namespace
} // namespace penstock::model
