#include "base/rng.hpp"
#include "gpu/elementary.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace penstock::gpu {
namespace {

TEST(elementary, log_and_exp_are_close_to_libm) {
  rng draws{1};
  for (int i = 0; i < 20000; ++i) {
    const double x = std::exp2(80.0 * static_cast<double>(draws.unit()) - 40.0);
    EXPECT_NEAR(log64(x), std::log(x), 4e-16 * std::max(1.0, std::abs(std::log(x)))) << x;
    const double y = 1400.0 * static_cast<double>(draws.unit()) - 700.0;
    EXPECT_NEAR(exp64(y) / std::exp(y), 1.0, 1e-15) << y;
  }
  EXPECT_EQ(log64(1.0), 0.0);
  EXPECT_EQ(exp64(0.0), 1.0);
}

TEST(elementary, sine_and_cosine_are_close_to_libm_over_every_context) {
  rng draws{2};
  for (int i = 0; i < 20000; ++i) {
    const double x = (i % 2 == 0 ? 1048575.0 : 10.0) * static_cast<double>(draws.unit());
    const auto at = sine_cosine64(x);
    EXPECT_NEAR(at.sine, std::sin(x), 4e-16) << x;
    EXPECT_NEAR(at.cosine, std::cos(x), 4e-16) << x;
  }
  EXPECT_EQ(sine_cosine64(0.0).sine, 0.0);
  EXPECT_EQ(sine_cosine64(0.0).cosine, 1.0);
}

model::model_config config_with(uint32_t head_dim, float theta) {
  model::model_config config;
  config.head_dim = head_dim;
  config.rope_theta = theta;
  return config;
}

TEST(elementary, frequencies_fall_from_one_by_powers_of_theta) {
  const auto f = rotary_frequencies(config_with(128, 500000.0F));
  ASSERT_EQ(f.size(), 64U);
  for (size_t i = 0; i < f.size(); ++i)
    EXPECT_FLOAT_EQ(f[i],
                    static_cast<float>(std::pow(500000.0, -2.0 * static_cast<double>(i) / 128.0)));
  std::vector<float> c(64);
  std::vector<float> s(64);
  rotary_row(f, 12345, c.data(), s.data());
  for (size_t i = 0; i < f.size(); ++i) {
    EXPECT_FLOAT_EQ(c[i], static_cast<float>(std::cos(12345.0 * static_cast<double>(f[i]))));
    EXPECT_FLOAT_EQ(s[i], static_cast<float>(std::sin(12345.0 * static_cast<double>(f[i]))));
  }
}

TEST(elementary, llama3_stretch_keeps_short_waves_and_slows_long_ones) {
  auto config = config_with(128, 500000.0F);
  const auto plain = rotary_frequencies(config);
  config.rope_scaling = model::rope_scaling_llama3{8.0F, 1.0F, 4.0F, 8192};
  const auto f = rotary_frequencies(config);
  EXPECT_EQ(f[0], plain[0]);
  EXPECT_FLOAT_EQ(f[63], plain[63] / 8.0F);
  bool blended = false;
  for (size_t i = 0; i < f.size(); ++i) {
    EXPECT_LE(f[i], plain[i]);
    EXPECT_GE(f[i] * 8.0001F, plain[i]);
    blended = blended || (f[i] < plain[i] * 0.99F && f[i] > plain[i] / 7.9F);
    if (i > 0) {
      EXPECT_LT(f[i], f[i - 1]);
    }
  }
  EXPECT_TRUE(blended);
}

} // namespace
} // namespace penstock::gpu
