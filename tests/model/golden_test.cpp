// The reference pass and the tokenizer against goldens that other implementations computed.
#include "model/detokenizer.hpp"
#include "model/load.hpp"
#include "model/reference.hpp"
#include "model_test_support.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::model {
namespace {

using namespace testing;
using ids = std::vector<token_id>;

// The goldens are float64 rounded to 8 decimals; float32 activations were seen to differ by up to
// 2.1e-6 over all positions. Ten times that catches any wrong operation.
constexpr double logit_tolerance = 2e-5;

// Feeds `prompt`, then its own greedy choices; returns what follows each position.
ids greedy(const loaded_model& model, const ids& prompt, size_t positions_max, bool stop_at_end) {
  reference_state state{model.config, model.weights};
  ids out;
  token_id next = prompt.at(0);
  while (out.size() < positions_max) {
    state.feed(next);
    const size_t fed = out.size() + 1;
    next = fed < prompt.size() ? prompt[fed] : argmax_ref(state.logits());
    out.push_back(next);
    if (stop_at_end && next == model.config.eos.at(0))
      break;
  }
  return out;
}

class tinystories : public ::testing::Test {
protected:
  void SetUp() override {
    const fs::path folder = shared_file("models/tinystories-656k");
    if (!fs::exists(folder))
      GTEST_SKIP() << "no models/tinystories-656k under " << PENSTOCK_SHARED_DIR;
    auto loaded = load_model(folder);
    ASSERT_TRUE(loaded) << loaded.err().text();
    model = *std::move(loaded);
  }
  static json golden(const char* name) {
    return json::parse(read_text(shared_file("models/tinystories-656k") / name));
  }
  std::unique_ptr<loaded_model> model;
};

TEST_F(tinystories, loads_with_the_tied_output_stored_under_its_other_name) {
  EXPECT_EQ(model->name, "tinystories-656k");
  EXPECT_EQ(model->config.eos, ids{2});
  EXPECT_EQ(model->weights.embed.data, model->weights.lm_head.data);
}

TEST_F(tinystories, encodings_reproduce) {
  for (const json& one : golden("golden_encode.json")) {
    const auto found = model->tokenizer.encode(one[0].get<std::string>());
    ASSERT_TRUE(found) << found.err().text();
    EXPECT_EQ(*found, one[1].get<ids>()) << one[0];
  }
}

TEST_F(tinystories, logits_reproduce) {
  const json expected = golden("golden_logits.json");
  const auto input = expected["input_ids"].get<ids>();
  const size_t vocab = model->config.vocab;
  const auto logits = reference_logits(model->config, model->weights, input);
  for (const auto& [position, row] : expected["full_logits"].items())
    for (size_t i = 0; i < vocab; ++i)
      ASSERT_NEAR(logits[std::stoul(position) * vocab + i], row[i].get<double>(), logit_tolerance);
  for (size_t position = 0; position < input.size(); ++position)
    for (const json& top : expected["top5"][position])
      ASSERT_NEAR(logits[position * vocab + top[0].get<size_t>()], top[1].get<double>(),
                  logit_tolerance);
  for (size_t position = 0; position + 1 < input.size(); ++position) {
    std::vector<float> row(logits.begin() + static_cast<ptrdiff_t>(position * vocab),
                           logits.begin() + static_cast<ptrdiff_t>((position + 1) * vocab));
    log_softmax_ref(row);
    ASSERT_NEAR(row[input[position + 1]], expected["logprob_of_next"][position].get<double>(),
                logit_tolerance);
  }
}

TEST_F(tinystories, greedy_ids_and_texts_reproduce) {
  const json expected = golden("golden_greedy.json");
  ASSERT_EQ(expected["cases"].size(), 6u);
  for (const json& one : expected["cases"]) {
    const auto prompt = one["prompt_ids"].get<ids>();
    const auto encoded = model->tokenizer.encode(one["prompt"].get<std::string>());
    ASSERT_TRUE(encoded);
    EXPECT_EQ(*encoded, prompt);
    const ids found = greedy(*model, prompt, 200, true);
    EXPECT_EQ(found, one["ids_out"].get<ids>()) << one["prompt"];
    EXPECT_EQ(model->tokenizer.decode(found), one["text"].get<std::string>());
  }
}

class builtin : public ::testing::Test {
protected:
  void SetUp() override {
    auto loaded = load_model(folder);
    ASSERT_TRUE(loaded) << loaded.err().text();
    model = *std::move(loaded);
  }
  const fs::path folder = fs::path{PENSTOCK_SOURCE_DIR} / "model" / "builtin";
  std::unique_ptr<loaded_model> model;
};

TEST_F(builtin, loads_and_reproduces_its_goldens) {
  const json expected = json::parse(read_text(folder / "golden.json"));
  ASSERT_GT(expected["cases"].size(), 0u);
  for (const json& one : expected["cases"]) {
    const auto prompt = one["prompt_ids"].get<ids>();
    const auto encoded = model->tokenizer.encode(one["prompt"].get<std::string>());
    ASSERT_TRUE(encoded) << encoded.err().text();
    EXPECT_EQ(*encoded, prompt);
    const auto wanted = one["greedy_ids"].get<ids>();
    const ids found = greedy(*model, prompt, prompt.size() - 1 + wanted.size(), false);
    const ids answer(found.begin() + static_cast<ptrdiff_t>(prompt.size() - 1), found.end());
    EXPECT_EQ(answer, wanted) << one["prompt"];
    const auto first = reference_last_logits(model->config, model->weights, prompt);
    for (const json& top : one["top5"])
      EXPECT_NEAR(first[top[0].get<size_t>()], top[1].get<double>(), 1e-4);
    detokenizer stream{model->tokenizer};
    stream.skip(prompt);
    std::string text;
    for (const token_id id : answer)
      text += stream.push(id);
    text += stream.flush();
    // The golden text has no space at its start: it was decoded without its prompt.
    EXPECT_EQ(model->tokenizer.decode(answer), one["greedy_text"].get<std::string>());
    EXPECT_TRUE(text.ends_with(one["greedy_text"].get<std::string>())) << text;
  }
}

} // namespace
} // namespace penstock::model
