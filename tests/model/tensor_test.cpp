#include "model/tensor.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace penstock::model {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(shape, counts_elements_and_compares_by_dims) {
  EXPECT_EQ((shape{3, 4}).element_count(), 12u);
  EXPECT_EQ(shape{}.element_count(), 1u);
  EXPECT_EQ((shape{3, 0}).element_count(), 0u);
  EXPECT_NE((shape{3, 1}), shape{3});
  EXPECT_EQ((shape{64, 128}).text(), "[64, 128]");
}

TEST(widening, f16_has_its_known_values) {
  EXPECT_EQ(f16_to_f32(0x0000), 0.0F);
  EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
  EXPECT_EQ(f16_to_f32(0x3C00), 1.0F);
  EXPECT_EQ(f16_to_f32(0xC000), -2.0F);
  EXPECT_EQ(f16_to_f32(0x7BFF), 65504.0F);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24F);
  EXPECT_EQ(f16_to_f32(0x03FF), 0x1p-14F - 0x1p-24F);
  EXPECT_EQ(f16_to_f32(0x7C00), infinity);
  EXPECT_EQ(f16_to_f32(0xFC00), -infinity);
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7E00)));
}

TEST(widening, every_16_bit_pattern_survives_the_way_there_and_back) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    const float half = f16_to_f32(bits);
    if (std::isnan(half))
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(half))));
    else
      ASSERT_EQ(f32_to_f16(half), bits);
    const float brain = bf16_to_f32(bits);
    if (std::isnan(brain))
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(brain))));
    else
      ASSERT_EQ(f32_to_bf16(brain), bits);
  }
}

TEST(narrowing, rounds_to_nearest_even) {
  EXPECT_EQ(f32_to_f16(1.0F + 0x1p-11F), 0x3C00); // Half way: to the even one.
  EXPECT_EQ(f32_to_f16(1.0F + 0x1.8p-10F), 0x3C02);
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0x0000);
  EXPECT_EQ(f32_to_f16(0x1.8p-25F), 0x0001);
  EXPECT_EQ(f32_to_bf16(1.0F + 0x1p-8F), 0x3F80);
  EXPECT_EQ(f32_to_bf16(1.0F + 0x1.8p-7F), 0x3F82);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7F80);
}

TEST(widening, reads_a_part_of_any_dtype) {
  const float f32[] = {1.0F, 2.0F, 3.0F};
  const uint16_t bf16[] = {0x3F80, 0x4000, 0x4040};
  const uint16_t f16[] = {0x3C00, 0x4000, 0x4200};
  std::vector<float> out(2);
  for (const tensor_view& view :
       {tensor_view{std::as_bytes(std::span{f32}).data(), dtype::f32, {3}},
        tensor_view{std::as_bytes(std::span{bf16}).data(), dtype::bf16, {3}},
        tensor_view{std::as_bytes(std::span{f16}).data(), dtype::f16, {3}}}) {
    widen(view, 1, out);
    EXPECT_EQ(out, (std::vector<float>{2.0F, 3.0F}));
    EXPECT_EQ(widened(view), (std::vector<float>{1.0F, 2.0F, 3.0F}));
  }
}

TEST(widening_death, reading_past_the_end_is_a_bug) {
  const float data[] = {1.0F};
  const tensor_view view{std::as_bytes(std::span{data}).data(), dtype::f32, {1}};
  std::vector<float> out(1);
  EXPECT_DEATH(widen(view, 1, out), "check failed");
}

} // namespace
} // namespace penstock::model
