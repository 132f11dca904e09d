// Architecture, rule 4, on the host device: a row's bits are a function of the row alone.
#include "gpu/host_device.hpp"
#include "tests/gpu/device_rig.hpp"
#include "tests/gpu/mutant_kernels.hpp"

namespace penstock::gpu {
namespace {

constexpr uint32_t rows_max = 16;

class row_independence : public testing::Test {
protected:
  model::tiny_model model = model::make_tiny(small_config(), model::dtype::f32, 1);
  std::vector<std::vector<token_id>> prompts = long_prompts(rows_max, model.config.vocab);
  const kernel_table& best = **kernels_for(kernel_path::best);

  /// Each row alone, its prompt in one chunk, one thread, blocks in order.
  std::vector<row_result> alone(const kernel_table& kernels, uint32_t rows) {
    std::vector<row_result> out;
    for (uint32_t row = 0; row < rows; ++row) {
      const std::vector<std::vector<token_id>> one{prompts[row]};
      schedule plan;
      plan.first_row = row;
      out.push_back(device_rig{model, kernels, plan, one}.run()[0]);
    }
    return out;
  }

  /// @returns How many of the first `rows` rows differ from what they get alone.
  uint32_t differing(const kernel_table& kernels, uint32_t rows, const schedule& plan,
                     const std::vector<row_result>& expected) {
    const std::vector<std::vector<token_id>> batch(prompts.begin(), prompts.begin() + rows);
    const auto results = device_rig{model, kernels, plan, batch}.run();
    uint32_t out = 0;
    for (uint32_t row = 0; row < rows; ++row)
      out += results[row].same_bits_as(expected[row]) ? 0U : 1U;
    return out;
  }
};

TEST_F(row_independence, batch_chunk_and_threads_change_no_bit) {
  const auto expected = alone(best, rows_max);
  uint64_t order = 0;
  for (const uint32_t rows : {1U, 2U, 3U, 5U, 8U, 13U, 16U})
    for (const uint32_t chunk : {1U, 7U, 64U, 1000U})
      for (const uint32_t threads : {1U, 2U})
        EXPECT_EQ(differing(best, rows, {chunk, threads, 16, order++}, expected), 0U)
          << rows << " rows, chunks of " << chunk << ", " << threads << " threads";
}

TEST_F(row_independence, block_size_and_physical_order_change_no_bit) {
  const auto expected = alone(best, 5);
  for (const uint32_t block_tokens : {16U, 32U, 64U})
    for (const uint64_t order : {0U, 1U, 2U})
      EXPECT_EQ(differing(best, 5, {64, 2, block_tokens, order}, expected), 0U) << block_tokens;
}

TEST_F(row_independence, every_instruction_path_gives_the_same_bits) {
  const auto expected = alone(scalar_kernels(), 2);
  for (const auto path : {kernel_path::avx2, kernel_path::avx512})
    if (is_available(path)) {
      EXPECT_EQ(differing(**kernels_for(path), 2, {64, 2, 32, 5}, expected), 0U);
    }
}

TEST_F(row_independence, holds_for_bf16_and_f16_weights) {
  for (const auto type : {model::dtype::bf16, model::dtype::f16}) {
    model = model::make_tiny(small_config(), type, 2);
    const auto expected = alone(best, 4);
    for (const uint32_t chunk : {1U, 7U, 1000U})
      EXPECT_EQ(differing(best, 4, {chunk, 2, 16, 9}, expected), 0U) << chunk;
  }
}

TEST_F(row_independence, catches_softmax_per_chunk) {
  kernel_table mutant = best;
  mutant.attention = attention_per_chunk;
  const auto expected = alone(mutant, 1);
  EXPECT_NE(differing(mutant, 1, {7, 1, 16, 0}, expected), 0U);
  EXPECT_NE(differing(mutant, 1, {1, 1, 16, 0}, expected), 0U);
}

TEST_F(row_independence, catches_block_sums_added_in_another_order) {
  kernel_table mutant = best;
  mutant.product = product_in_block_order;
  EXPECT_NE(differing(mutant, 1, {1, 1, 16, 0}, alone(mutant, 1)), 0U);
}

TEST_F(row_independence, catches_one_chain_for_many_rows) {
  kernel_table mutant = best;
  mutant.product = product_in_one_chain;
  EXPECT_NE(differing(mutant, 1, {1, 1, 16, 0}, alone(mutant, 1)), 0U);
}

TEST_F(row_independence, catches_a_swapped_block) {
  const auto expected = alone(best, 2);
  EXPECT_EQ(differing(best, 2, {64, 1, 16, 0, 0, true}, expected), 2U);
}

} // namespace
} // namespace penstock::gpu
