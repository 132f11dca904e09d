#include "model/reference.hpp"
#include "model/tiny.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace penstock::model {
namespace {

tensor_view view_of(std::span<const float> data, shape dims) {
  return {std::as_bytes(data).data(), dtype::f32, dims};
}

TEST(rmsnorm_ref, scales_to_unit_mean_square_then_by_weight) {
  const float weight[] = {1.0F, 2.0F};
  std::vector<float> x{3.0F, -4.0F}; // Root mean square: sqrt(12.5).
  rmsnorm_ref(x, x, view_of(weight, {2}), 1e-9F);
  EXPECT_FLOAT_EQ(x[0], 3.0F / std::sqrt(12.5F));
  EXPECT_FLOAT_EQ(x[1], -8.0F / std::sqrt(12.5F));
}

TEST(matmul_ref, is_a_dot_product_per_row) {
  const float weight[] = {1, 2, 3, 4, 5, 6};
  const float x[] = {1, 10, 100};
  std::vector<float> out(2);
  matmul_ref(out, x, view_of(weight, {2, 3}));
  EXPECT_EQ(out, (std::vector<float>{321, 654}));
}

TEST(matmul_ref_death, a_wrong_shape_is_a_bug) {
  const float weight[] = {1, 2, 3, 4};
  const float x[] = {1, 10, 100};
  std::vector<float> out(2);
  EXPECT_DEATH(matmul_ref(out, x, view_of(weight, {2, 2})), "check failed");
}

TEST(rope_ref, rotates_a_dimension_with_the_one_half_a_head_away) {
  std::vector<float> x{1, 0, 0, 1, /* second head */ 0, 2, 0, 0};
  const double frequencies[] = {0.5, 0.25};
  rope_ref(x, 2, frequencies);
  EXPECT_FLOAT_EQ(x[0], std::cos(1.0F));
  EXPECT_FLOAT_EQ(x[2], std::sin(1.0F));
  EXPECT_FLOAT_EQ(x[1], -std::sin(0.5F));
  EXPECT_FLOAT_EQ(x[3], std::cos(0.5F));
  EXPECT_FLOAT_EQ(x[5], 2 * std::cos(0.5F));
  EXPECT_FLOAT_EQ(x[7], 2 * std::sin(0.5F));
}

TEST(rope_ref, position_zero_changes_nothing) {
  std::vector<float> x{1, 2, 3, 4};
  rope_ref(x, 0, rope_frequencies([] {
             model_config config = tiny_config();
             config.head_dim = 4;
             return config;
           }()));
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4}));
}

TEST(rope_frequencies, llama3_keeps_fast_ones_and_slows_slow_ones) {
  model_config config = tiny_config();
  config.head_dim = 128;
  config.rope_theta = 500000.0F;
  const auto plain = rope_frequencies(config);
  config.rope_scaling = rope_scaling_llama3{8.0F, 1.0F, 4.0F, 8192};
  const auto scaled = rope_frequencies(config);
  EXPECT_DOUBLE_EQ(plain[0], 1.0);
  EXPECT_DOUBLE_EQ(scaled[0], plain[0]);
  EXPECT_DOUBLE_EQ(scaled[63], plain[63] / 8);
  // Wavelength 8192 / 2.5 lies half way between the bounds 1 and 4: the mean of both.
  const double between = 2.5 * 2 * M_PI / 8192;
  config.rope_theta = static_cast<float>(std::pow(between, -2.0)); // Then i = 32 has it.
  const double unscaled = std::pow(double{config.rope_theta}, -0.5);
  EXPECT_NEAR(rope_frequencies(config)[32], unscaled * (1 + 1.0 / 8) / 2, unscaled * 1e-6);
}

TEST(attention_ref, mixes_values_by_softmax_and_shares_kv_heads) {
  const float q[] = {0, 0, 100, 0};  // Two query heads over one KV head of dimension 2.
  const float keys[] = {1, 0, 0, 1}; // Two positions.
  const float values[] = {2, 4, 6, 8};
  std::vector<float> out(4);
  attention_ref(out, q, keys, values, 1, 2);
  EXPECT_FLOAT_EQ(out[0], 4.0F); // No preference: the mean.
  EXPECT_FLOAT_EQ(out[1], 6.0F);
  EXPECT_FLOAT_EQ(out[2], 2.0F); // All on the first.
  EXPECT_FLOAT_EQ(out[3], 4.0F);
}

TEST(attention_ref, query_heads_read_the_kv_head_of_their_group) {
  const float q[] = {1, 1, 1, 1}; // Four heads of dimension 1 over two KV heads.
  const float keys[] = {0, 0};
  const float values[] = {5, 7};
  std::vector<float> out(4);
  attention_ref(out, q, keys, values, 2, 1);
  EXPECT_EQ(out, (std::vector<float>{5, 5, 7, 7}));
}

TEST(silu_mul_ref, gates_and_survives_large_values) {
  const float gate[] = {0.0F, 1.0F, 200.0F, -200.0F};
  const float up[] = {3.0F, 2.0F, 1.0F, 1.0F};
  std::vector<float> out(4);
  silu_mul_ref(out, gate, up);
  EXPECT_EQ(out[0], 0.0F);
  EXPECT_FLOAT_EQ(out[1], 2.0F / (1.0F + std::exp(-1.0F)));
  EXPECT_FLOAT_EQ(out[2], 200.0F);
  EXPECT_NEAR(out[3], 0.0F, 1e-30F);
}

TEST(log_softmax_ref, sums_to_one_whatever_the_offset) {
  std::vector<float> x{1000.0F, 1001.0F, 999.0F};
  log_softmax_ref(x);
  double sum = 0;
  for (const float value : x)
    sum += std::exp(double{value});
  EXPECT_NEAR(sum, 1.0, 1e-6);
  EXPECT_NEAR(x[1] - x[0], 1.0, 1e-6);
}

TEST(argmax_ref, takes_the_first_of_equals) {
  EXPECT_EQ(argmax_ref(std::vector<float>{1, 3, 3, 2}), 1u);
}

TEST(reference_state, a_step_sees_what_came_before_in_order) {
  const tiny_model model = make_tiny(tiny_config(), dtype::f32, 3);
  const std::vector<token_id> ids{5, 9, 200, 9};
  const auto all = reference_logits(model.config, model.weights, ids);
  const auto row = [&](size_t i) {
    return std::vector<float>(all.begin() + static_cast<ptrdiff_t>(i * 256),
                              all.begin() + static_cast<ptrdiff_t>((i + 1) * 256));
  };
  EXPECT_EQ(reference_last_logits(model.config, model.weights, ids), row(3));
  EXPECT_EQ(reference_last_logits(model.config, model.weights, std::span{ids}.first(2)), row(1));
  EXPECT_NE(row(1), row(3)); // The same token, another past.
  const std::vector<token_id> swapped{9, 5, 200, 9};
  EXPECT_NE(reference_last_logits(model.config, model.weights, swapped), row(3));
}

TEST(reference_state_death, a_token_past_the_vocabulary_is_a_bug) {
  const tiny_model model = make_tiny(tiny_config(), dtype::f32, 3);
  reference_state state{model.config, model.weights};
  EXPECT_DEATH(state.feed(256), "check failed");
}

TEST(make_tiny, is_a_function_of_its_arguments) {
  const tiny_model a = make_tiny(tiny_config(), dtype::bf16, 3);
  const tiny_model same = make_tiny(tiny_config(), dtype::bf16, 3);
  const tiny_model other = make_tiny(tiny_config(), dtype::bf16, 4);
  EXPECT_EQ(digest_of(a.config, a.weights), digest_of(same.config, same.weights));
  EXPECT_NE(digest_of(a.config, a.weights), digest_of(other.config, other.weights));
  EXPECT_NE(widened(a.weights.layers[0].q), widened(a.weights.layers[1].q));
}

TEST(make_tiny, views_survive_a_move_and_are_aligned) {
  tiny_model first = make_tiny(tiny_config(), dtype::f16, 3);
  const tiny_model moved = std::move(first);
  EXPECT_EQ(moved.weights.embed.data, moved.storage[0].bytes);
  for (const layer_weights& layer : moved.weights.layers)
    EXPECT_EQ(reinterpret_cast<uintptr_t>(layer.down.data) % 64, 0u);
}

TEST(make_tiny, logits_stay_of_order_one_when_deep_and_wide) {
  model_config config = tiny_config();
  config.hidden = 1536;
  config.intermediate = 1600;
  config.layers = 6;
  config.heads = 12;
  config.kv_heads = 3;
  config.head_dim = 32;
  for (const dtype type : {dtype::bf16, dtype::f16}) {
    const tiny_model model = make_tiny(config, type, 1);
    const auto logits
      = reference_last_logits(model.config, model.weights, std::vector<token_id>{1, 2, 3, 4});
    double sum = 0;
    for (const float value : logits)
      sum += double{value} * value;
    const double rms = std::sqrt(sum / static_cast<double>(logits.size()));
    EXPECT_GT(rms, 0.2);
    EXPECT_LT(rms, 5.0);
  }
}

} // namespace
} // namespace penstock::model
