#include "tests/support/oracle_device.hpp"

#include <gtest/gtest.h>

namespace penstock::gpu {
namespace {

class oracle_device_test : public testing::Test {
protected:
  oracle_rules rules;
  oracle_device device{rules, {4, 256, 512}, 40};
  std::vector<token_id> prompt{5, 9, 9, 700, 3};

  oracle_device_test() {
    for (token_id i = 0; i < 60; ++i)
      prompt.push_back(10 + i * 3);
  }

  static std::vector<uint32_t> table(uint32_t first) {
    return {first + 4, first, first + 2, first + 1, first + 3, first + 5};
  }
  void feed(oracle_device& to, uint32_t position, std::vector<token_id> tokens, uint32_t first) {
    row_run row;
    row.position = position;
    row.tokens = std::move(tokens);
    row.blocks = table(first);
    to.submit({1, {row}}, [](const step_output&) {});
  }
  generated_token next(oracle_device& from, uint32_t position, std::vector<token_id> tokens,
                       uint32_t first, float temperature = 0.0F) {
    row_run row;
    row.position = position;
    row.tokens = std::move(tokens);
    row.blocks = table(first);
    row.sample = true;
    row.rules = {temperature, 8};
    generated_token out;
    from.submit({1, {row}}, [&](const step_output& done) {
      EXPECT_EQ(done.code, errc::ok);
      out = done.sampled.at(0).token;
    });
    return out;
  }
  generated_token expected() { return oracle_next(rules, prompt); }
};

TEST_F(oracle_device_test, says_what_oracle_next_says_however_it_is_fed) {
  const auto whole = next(device, 0, prompt, 0);
  EXPECT_EQ(whole.id, expected().id);
  EXPECT_EQ(whole.logprob, expected().logprob);
  for (uint32_t i = 0; i + 1 < prompt.size(); ++i)
    feed(device, i, {prompt[i]}, 10);
  EXPECT_EQ(next(device, 64, {prompt.back()}, 10).logprob, expected().logprob);
}

TEST_F(oracle_device_test, goes_on_from_its_slots_as_oracle_answer_says) {
  sampling_params sampling;
  sampling.tokens_max = 12;
  const auto answer = oracle_answer(rules, prompt, sampling);
  ASSERT_EQ(answer.size(), 12U);
  EXPECT_EQ(next(device, 0, prompt, 0).id, answer[0]);
  for (uint32_t i = 1; i < 12; ++i)
    EXPECT_EQ(next(device, 64 + i, {}, 0).id, answer[i]);
}

TEST_F(oracle_device_test, a_temperature_draws_by_seed_and_position) {
  sampling_params sampling;
  sampling.temperature = 1.0F;
  sampling.seed = 8;
  const auto drawn = next(device, 0, prompt, 0, 1.0F);
  EXPECT_EQ(drawn.logprob, oracle_next(rules, prompt, sampling).logprob);
  EXPECT_NE(drawn.logprob, expected().logprob);
}

TEST_F(oracle_device_test, any_wrong_element_changes_the_answer) {
  feed(device, 0, {prompt.begin(), prompt.end() - 1}, 0);
  const auto before = expected().logprob;
  for (size_t at = 0; at < device.layout().piece_bytes(); at += 28) { // A byte of block 2.
    for (uint32_t layer = 0; layer < 2; ++layer) {
      auto& byte = device.pool()[device.layout().piece_offset(layer, 2) + at];
      byte ^= std::byte{1};
      EXPECT_NE(next(device, 64, {prompt.back()}, 0).logprob, before) << at;
      byte ^= std::byte{1};
    }
  }
  EXPECT_EQ(next(device, 64, {prompt.back()}, 0).logprob, before);
}

TEST_F(oracle_device_test, a_missing_swapped_or_foreign_block_changes_the_answer) {
  feed(device, 0, {prompt.begin(), prompt.end() - 1}, 0);
  auto other = prompt;
  other[20] = 4;
  feed(device, 0, {other.begin(), other.end() - 1}, 10);
  row_run row;
  row.position = 64;
  row.tokens = {prompt.back()};
  row.sample = true;
  const auto with = [&](std::vector<uint32_t> blocks) {
    row.blocks = std::move(blocks);
    generated_token out;
    device.submit({1, {row}}, [&](const step_output& done) { out = done.sampled.at(0).token; });
    return out.logprob;
  };
  EXPECT_EQ(with({4, 0, 2, 1, 3}), expected().logprob);
  EXPECT_NE(with({4, 2, 0, 1, 3}), expected().logprob);
  EXPECT_NE(with({4, 30, 2, 1, 3}), expected().logprob);
  EXPECT_NE(with({4, 10, 2, 1, 3}), expected().logprob);
}

TEST_F(oracle_device_test, ends_texts_about_as_often_as_told) {
  rules.end_every = 10;
  uint32_t ends = 0;
  for (uint32_t i = 0; i < 2000; ++i) {
    const std::vector<token_id> tokens{i, 7};
    ends += oracle_next(rules, tokens).id == rules.end ? 1U : 0U;
  }
  EXPECT_GT(ends, 120U);
  EXPECT_LT(ends, 280U);
  sampling_params sampling;
  sampling.tokens_max = 300;
  EXPECT_LT(oracle_answer(rules, prompt, sampling).size(), 300U);
  sampling.ignore_end = true;
  EXPECT_EQ(oracle_answer(rules, prompt, sampling).size(), 300U);
}

TEST_F(oracle_device_test, held_steps_end_in_order_when_told) {
  device.hold(true);
  std::vector<uint64_t> ended;
  row_run row;
  row.tokens = {1};
  row.blocks = {0};
  for (uint64_t number = 1; number <= 2; ++number)
    device.submit({number, {row}}, [&](const step_output& done) { ended.push_back(done.number); });
  EXPECT_TRUE(ended.empty());
  EXPECT_DEATH(device.submit({3, {row}}, [](const step_output&) {}), "check failed");
  EXPECT_TRUE(device.run_next());
  EXPECT_EQ(ended, (std::vector<uint64_t>{1}));
  EXPECT_TRUE(device.run_next());
  EXPECT_FALSE(device.run_next());
  EXPECT_EQ(ended, (std::vector<uint64_t>{1, 2}));
}

TEST_F(oracle_device_test, fails_once_when_told) {
  device.fail_next("the fan stopped");
  errc code = errc::ok;
  std::string detail;
  row_run row;
  row.tokens = {1};
  row.blocks = {0};
  device.submit({1, {row}}, [&](const step_output& done) {
    code = done.code;
    detail = done.detail;
  });
  EXPECT_EQ(code, errc::device_failed);
  EXPECT_EQ(detail, "the fan stopped");
  EXPECT_EQ(next(device, 0, prompt, 0).id, expected().id);
}

} // namespace
} // namespace penstock::gpu
