#include "base/limits.hpp"
#include "gpu/kernels.hpp"
#include "gpu/packed_matrix.hpp"
#include "tests/gpu/kernel_fixture.hpp"

namespace penstock::gpu {
namespace {

/// A weight matrix as a checkpoint holds it.
struct source_matrix {
  std::vector<uint16_t> half;
  std::vector<float> wide; ///< What the elements are worth.
  model::tensor_view view;

  source_matrix(model::dtype type, uint32_t rows, uint32_t depth, uint64_t seed)
    : wide(random_values(seed, size_t{rows} * depth)) {
    view.type = type;
    view.dims = {rows, depth};
    view.data = reinterpret_cast<const std::byte*>(wide.data());
    if (type == model::dtype::f32)
      return;
    for (auto& x : wide) {
      const bool brain = type == model::dtype::bf16;
      half.push_back(brain ? model::f32_to_bf16(x) : model::f32_to_f16(x));
      x = brain ? model::bf16_to_f32(half.back()) : model::f16_to_f32(half.back());
    }
    view.data = reinterpret_cast<const std::byte*>(half.data());
  }
};

/// docs/numerics.md, "Products", one output at a time.
float plain_product(const float* x, const float* w, uint32_t depth) {
  float y = 0.0F;
  for (uint32_t begin = 0; begin < depth; begin += limits::product_block) {
    float sum = 0.0F;
    for (uint32_t k = begin; k < depth && k < begin + limits::product_block; ++k)
      sum = std::fma(x[k], w[k], sum);
    y = begin == 0 ? sum : y + sum;
  }
  return y;
}

std::vector<float> run(const kernel_table& table, const packed_matrix& w,
                       const std::vector<float>& x, uint32_t rows, uint32_t split) {
  const size_t stride = padded(w.rows());
  std::vector<float> out(rows * stride + 1, -7.0F);
  product_args args;
  args.x = x.data();
  args.x_stride = w.depth();
  args.rows = rows;
  args.weights = w.data();
  args.dtype = w.dtype();
  args.depth = w.depth();
  args.out = out.data();
  args.out_stride = stride;
  for (uint32_t begin = 0; begin < w.panels(); begin += split) {
    args.panel_begin = begin;
    args.panel_end = std::min(begin + split, w.panels());
    table.product(args);
  }
  EXPECT_EQ(out.back(), -7.0F); // Nothing is written past the last row.
  out.pop_back();
  return out;
}

class product_shapes : public testing::TestWithParam<std::tuple<uint32_t, model::dtype>> {};

TEST_P(product_shapes, every_path_gives_the_bits_of_the_page) {
  const auto [depth, type] = GetParam();
  const auto tables = runnable_tables();
  for (const uint32_t columns : {1U, 16U, 37U, 144U}) {
    const source_matrix source{type, columns, depth, 7 + columns};
    const packed_matrix w{std::span{&source.view, 1}};
    const auto x = random_values(depth, size_t{64} * depth);
    std::vector<float> expected;
    for (const uint32_t rows : {64U, 0U, 1U, 2U, 3U, 5U, 6U, 7U, 12U, 13U, 16U, 17U}) {
      for (const auto* table : tables) {
        if (table == tables[0] && rows != 64 && rows > 5)
          continue; // The scalar path is slow; 64 rows and a few are enough of it.
        const auto out = run(*table, w, x, rows, rows % 2 == 0 ? 1000 : 3);
        if (expected.empty())
          expected = out; // The scalar path on all 64 rows.
        EXPECT_TRUE(same_bits(out, std::span(expected).first(out.size())))
          << table->name << " rows " << rows << " columns " << columns;
      }
    }
    for (const uint32_t row : {0U, 1U, 63U})
      for (const uint32_t column : {0U, columns - 1})
        EXPECT_EQ(expected[row * padded(columns) + column],
                  plain_product(x.data() + size_t{row} * depth,
                                source.wide.data() + size_t{column} * depth, depth));
  }
}

INSTANTIATE_TEST_SUITE_P(kernels, product_shapes,
                         testing::Combine(testing::Values(1U, 31U, 512U, 513U, 1536U),
                                          testing::Values(model::dtype::f32, model::dtype::bf16,
                                                          model::dtype::f16)));

TEST(kernels, widen_every_half_float_exactly) {
  for (const auto type : {model::dtype::f16, model::dtype::bf16}) {
    source_matrix source{type, 65536 / 16, 16, 1};
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      const float wide
        = type == model::dtype::f16 ? model::f16_to_f32(half) : model::bf16_to_f32(half);
      source.half[bits] = std::isfinite(wide) ? half : 0;
      source.wide[bits] = std::isfinite(wide) ? wide : 0.0F;
    }
    const packed_matrix w{std::span{&source.view, 1}};
    for (uint32_t pick = 0; pick < 16; ++pick) { // x picks column `pick` of every row.
      std::vector<float> x(16, 0.0F);
      x[pick] = 1.0F;
      for (const auto* table : runnable_tables()) {
        const auto out = run(*table, w, x, 1, 1000);
        for (uint32_t row = 0; row < w.rows(); ++row)
          ASSERT_EQ(out[row], source.wide[row * 16 + pick]) << table->name;
      }
    }
  }
}

TEST(packed_matrix, stacks_matrices_and_widens_mixed_dtypes) {
  const source_matrix first{model::dtype::f32, 5, 33, 1};
  const source_matrix second{model::dtype::bf16, 14, 33, 2};
  const std::vector<model::tensor_view> both{first.view, second.view};
  const packed_matrix w{both};
  EXPECT_EQ(w.dtype(), weight_dtype::f32);
  EXPECT_EQ(w.rows(), 19U);
  EXPECT_EQ(w.size_bytes(), 32U * 33U * 4U);
  const auto x = random_values(3, 33);
  const auto out = run(scalar_kernels(), w, x, 1, 1000);
  EXPECT_EQ(out[4], plain_product(x.data(), first.wide.data() + 4 * 33, 33));
  EXPECT_EQ(out[5], plain_product(x.data(), second.wide.data(), 33));
  EXPECT_EQ(out[18], plain_product(x.data(), second.wide.data() + 13 * 33, 33));
  EXPECT_EQ(out[19], 0.0F);
}

} // namespace
} // namespace penstock::gpu
