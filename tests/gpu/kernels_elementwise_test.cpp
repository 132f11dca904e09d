#include "gpu/kernels.hpp"
#include "tests/gpu/kernel_fixture.hpp"

#include <limits>

namespace penstock::gpu {
namespace {

const std::vector<size_t> awkward_counts{1, 2, 15, 16, 17, 31, 64, 100, 513};

TEST(kernels, exp_is_as_exact_as_the_page_says_and_keeps_its_ends) {
  double worst = 0.0;
  for (uint64_t step = 0; step < 400000; ++step) {
    const float x = -87.0F + 175.0F * static_cast<float>(step) / 400000.0F;
    float out = 0.0F;
    scalar_kernels().exp_scaled(&out, &x, 1, 0.0F, 1.0F);
    const double exact = std::exp(static_cast<double>(x));
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
    worst = std::max(worst, std::abs(static_cast<double>(out) - exact) / ulp);
  }
  EXPECT_LT(worst, 1.1);
  RecordProperty("worst_ulp", std::to_string(worst));
  const std::vector<float> ends{0.0F, -0.0F, -87.1F, -1000.0F,
                                -std::numeric_limits<float>::infinity()};
  const std::vector<float> wanted{1.0F, 1.0F, 0.0F, 0.0F, 0.0F};
  std::vector<float> out(ends.size());
  scalar_kernels().exp_scaled(out.data(), ends.data(), ends.size(), 0.0F, 1.0F);
  EXPECT_TRUE(same_bits(out, wanted));
  const float not_a_number = std::numeric_limits<float>::quiet_NaN();
  scalar_kernels().exp_scaled(out.data(), &not_a_number, 1, 0.0F, 1.0F);
  EXPECT_TRUE(std::isnan(out[0]));
}

TEST(kernels, elementwise_paths_give_the_same_bits) {
  const auto& scalar = scalar_kernels();
  for (const auto* table : runnable_tables())
    for (const size_t count : awkward_counts) {
      const auto x = random_values(count, count, 30.0F);
      const auto y = random_values(count + 1, count, 2.0F);
      std::vector<float> a(count + 1, -7.0F);
      std::vector<float> b(count + 1, -7.0F);
      const auto same = [&](const char* what) {
        EXPECT_TRUE(same_bits(a, b)) << table->name << " " << what << " " << count;
        EXPECT_EQ(b.back(), -7.0F) << what; // Nothing is written past the end.
      };
      const auto dim = static_cast<uint32_t>(count);
      scalar.rmsnorm(a.data(), x.data(), y.data(), dim, 1e-5F);
      table->rmsnorm(b.data(), x.data(), y.data(), dim, 1e-5F);
      same("rmsnorm");
      scalar.silu_mul(a.data(), x.data(), y.data(), count);
      table->silu_mul(b.data(), x.data(), y.data(), count);
      same("silu_mul");
      scalar.add(a.data(), x.data(), count);
      table->add(b.data(), x.data(), count);
      same("add");
      scalar.exp_scaled(a.data(), x.data(), count, 30.0F, 0.7F);
      table->exp_scaled(b.data(), x.data(), count, 30.0F, 0.7F);
      same("exp_scaled");
      EXPECT_EQ(scalar.exp_sum(x.data(), count, 30.0F), table->exp_sum(x.data(), count, 30.0F));
      EXPECT_EQ(scalar.peak(x.data(), count).index, table->peak(x.data(), count).index);
    }
}

TEST(kernels, rmsnorm_is_the_page_in_plain_loops) {
  for (const size_t count : awkward_counts) {
    const auto x = random_values(count, count, 5.0F);
    const auto weight = random_values(count + 1, count);
    std::vector<float> lanes(16, 0.0F);
    for (size_t i = 0; i < count; ++i)
      lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
    for (size_t width = 8; width > 0; width /= 2)
      for (size_t i = 0; i < width; ++i)
        lanes[i] += lanes[i + width];
    const float inverse = 1.0F / std::sqrt(lanes[0] / static_cast<float>(count) + 1e-6F);
    std::vector<float> out = x;
    scalar_kernels().rmsnorm(out.data(), out.data(), weight.data(), static_cast<uint32_t>(count),
                             1e-6F);
    for (size_t i = 0; i < count; ++i)
      EXPECT_EQ(out[i], (x[i] * inverse) * weight[i]);
  }
}

TEST(kernels, rope_rotates_pairs_half_a_head_apart) {
  for (const uint32_t head_dim : {2U, 8U, 16U, 32U, 48U, 64U, 80U, 128U}) {
    const uint32_t half = head_dim / 2;
    const auto x = random_values(head_dim, size_t{3} * head_dim);
    const auto c = random_values(1, half);
    const auto s = random_values(2, half);
    for (const auto* table : runnable_tables()) {
      auto out = x;
      table->rope(out.data(), 3, head_dim, c.data(), s.data());
      for (uint32_t head = 0; head < 3; ++head)
        for (uint32_t i = 0; i < half; ++i) {
          const float low = x[head * head_dim + i];
          const float high = x[head * head_dim + half + i];
          EXPECT_EQ(out[head * head_dim + i], std::fma(-high, s[i], low * c[i])) << table->name;
          EXPECT_EQ(out[head * head_dim + half + i], std::fma(low, s[i], high * c[i]));
        }
    }
  }
}

TEST(kernels, peak_takes_the_lowest_of_equals_and_sees_what_is_not_finite) {
  for (const auto* table : runnable_tables())
    for (const size_t count : awkward_counts) {
      std::vector<float> x(count, -3.0F);
      EXPECT_EQ(table->peak(x.data(), count).index, 0U);
      x[count / 2] = x[count - 1] = -1.0F;
      const auto peak = table->peak(x.data(), count);
      EXPECT_EQ(peak.index, count / 2);
      EXPECT_EQ(peak.value, -1.0F);
      EXPECT_TRUE(peak.finite);
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
            -std::numeric_limits<float>::infinity()}) {
        x[count - 1] = bad;
        EXPECT_FALSE(table->peak(x.data(), count).finite) << table->name << " " << count;
      }
    }
}

TEST(kernels, a_path_this_cpu_lacks_is_refused) {
  for (const auto path : {kernel_path::scalar, kernel_path::avx2, kernel_path::avx512}) {
    const auto table = kernels_for(path);
    EXPECT_EQ(static_cast<bool>(table), is_available(path));
    if (!table) {
      EXPECT_EQ(table.err().code, errc::unsupported);
    }
  }
  EXPECT_TRUE(kernels_for(kernel_path::best));
}

} // namespace
} // namespace penstock::gpu
