#include "gpu/elementary.hpp"

#include "base/check.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <numbers>

namespace penstock::gpu {

namespace {

constexpr double ln2_high = 0x1.62e42fefa39efp-1;
constexpr double ln2_low = 0x1.abc9e3b39803fp-56;
constexpr double ln2_split_high = 0x1.62e42fee00000p-1; // 32 bits: n * this is exact.
constexpr double ln2_split_low = 0x1.a39ef35793c76p-33;
constexpr double half_pi_a = 0x1.921fb54400000p+0;
constexpr double half_pi_b = 0x1.0b4611a600000p-34;
constexpr double half_pi_c = 0x1.3198a2e037073p-69;

/// Horner's rule with separate roundings: c[0] + x * (c[1] + x * (...)).
template <size_t N>
double horner(const std::array<double, N>& c, double x) {
  double sum = c[N - 1];
  for (size_t i = N - 1; i > 0; --i)
    sum = sum * x + c[i - 1];
  return sum;
}

double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52U);
}

/// 1/k! for k = First, First + Step, ..., with alternating signs if Step is 2.
template <size_t N, unsigned First, unsigned Step>
constexpr std::array<double, N> inverse_factorials() {
  std::array<double, N> out{};
  double factorial = 1.0; // Exact up to 18!.
  unsigned k = 0;
  for (size_t i = 0; i < N; ++i) {
    for (; k < First + Step * i; ++k)
      factorial *= static_cast<double>(k + 1);
    out[i] = (Step == 2 && i % 2 == 1 ? -1.0 : 1.0) / factorial;
  }
  return out;
}

constexpr auto exp_series = inverse_factorials<14, 0, 1>();
constexpr auto sine_series = inverse_factorials<8, 1, 2>();
constexpr auto cosine_series = inverse_factorials<9, 0, 2>();
constexpr std::array<double, 11> log_series{1.0,        1.0 / 3.0,  1.0 / 5.0,  1.0 / 7.0,
                                            1.0 / 9.0,  1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0,
                                            1.0 / 17.0, 1.0 / 19.0, 1.0 / 21.0};

/// Llama 3's stretch: long waves are slowed by the factor, short ones kept, those between blended.
double stretched(double frequency, const model::rope_scaling_llama3& scaling) {
  const double factor = static_cast<double>(scaling.factor);
  const double low = static_cast<double>(scaling.low_freq_factor);
  const double high = static_cast<double>(scaling.high_freq_factor);
  const auto context = static_cast<double>(scaling.original_context);
  const double wave = 2.0 * std::numbers::pi / frequency;
  if (wave < context / high)
    return frequency;
  if (wave > context / low)
    return frequency / factor;
  const double t = (context / wave - low) / (high - low);
  return (1.0 - t) * frequency / factor + t * frequency;
}

} // namespace

double log64(double x) noexcept {
  const auto bits = std::bit_cast<uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52U) - 1023;
  double mantissa
    = std::bit_cast<double>((bits & ((uint64_t{1} << 52U) - 1U)) | (uint64_t{1023} << 52U));
  if (mantissa >= std::numbers::sqrt2) {
    mantissa = mantissa * 0.5;
    ++exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double series = (2.0 * s) * horner(log_series, s * s);
  return (series + exponent * ln2_low) + exponent * ln2_high;
}

double exp64(double x) noexcept {
  const double n = std::floor(x / ln2_high + 0.5);
  const double r = (x - n * ln2_split_high) - n * ln2_split_low;
  return horner(exp_series, r) * power_of_two(static_cast<int>(n));
}

sine_cosine sine_cosine64(double x) noexcept {
  const double n = std::floor(x * std::numbers::inv_pi * 2.0 + 0.5);
  const double r = ((x - n * half_pi_a) - n * half_pi_b) - n * half_pi_c;
  const double z = r * r;
  const double sine = r * horner(sine_series, z);
  const double cosine = horner(cosine_series, z);
  switch (static_cast<uint64_t>(n) % 4) {
  case 0:
    return {sine, cosine};
  case 1:
    return {cosine, -sine};
  case 2:
    return {-sine, -cosine};
  default:
    return {-cosine, sine};
  }
}

std::vector<float> rotary_frequencies(const model::model_config& config) {
  PS_CHECK(config.head_dim % 2 == 0);
  const double log_theta = log64(static_cast<double>(config.rope_theta));
  std::vector<float> out(config.head_dim / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(config.head_dim);
    double frequency = exp64(-exponent * log_theta);
    if (config.rope_scaling)
      frequency = stretched(frequency, *config.rope_scaling);
    out[i] = static_cast<float>(frequency);
  }
  return out;
}

void rotary_row(std::span<const float> frequencies, uint32_t position, float* cosine, float* sine) {
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const auto at
      = sine_cosine64(static_cast<double>(position) * static_cast<double>(frequencies[i]));
    cosine[i] = static_cast<float>(at.cosine);
    sine[i] = static_cast<float>(at.sine);
  }
}

} // namespace penstock::gpu
