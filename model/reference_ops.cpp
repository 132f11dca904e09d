#include "model/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace penstock::model {

namespace {

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += double{a[i]} * double{b[i]};
  return sum;
}

double scaled_frequency(double frequency, const rope_scaling_llama3& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double turns = scaling.original_context / wavelength; // Within the original context.
  if (turns > scaling.high_freq_factor)
    return frequency;
  if (turns < scaling.low_freq_factor)
    return frequency / scaling.factor;
  const double smooth = (turns - scaling.low_freq_factor)
                        / (double{scaling.high_freq_factor} - scaling.low_freq_factor);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

} // namespace

void rmsnorm_ref(std::span<float> out, std::span<const float> x, const tensor_view& weight,
                 float eps) {
  PS_CHECK(out.size() == x.size() && weight.element_count() == x.size());
  const double scale = 1.0 / std::sqrt(dot(x, x) / static_cast<double>(x.size()) + eps);
  const std::vector<float> w = widened(weight);
  for (size_t i = 0; i < x.size(); ++i)
    out[i] = static_cast<float>(x[i] * scale) * w[i];
}

void matmul_ref(std::span<float> out, std::span<const float> x, const tensor_view& weight) {
  PS_CHECK(weight.dims == (shape{out.size(), x.size()}));
  std::vector<float> row(x.size());
  for (size_t i = 0; i < out.size(); ++i) {
    widen(weight, i * x.size(), row);
    out[i] = static_cast<float>(dot(row, x));
  }
}

std::vector<double> rope_frequencies(const model_config& config) {
  std::vector<double> out(config.head_dim / 2);
  for (size_t i = 0; i < out.size(); ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / config.head_dim;
    out[i] = std::pow(double{config.rope_theta}, exponent);
    if (config.rope_scaling)
      out[i] = scaled_frequency(out[i], *config.rope_scaling);
  }
  return out;
}

void rope_ref(std::span<float> x, uint32_t position, std::span<const double> frequencies) {
  const size_t half = frequencies.size();
  PS_CHECK(half > 0 && x.size() % (2 * half) == 0);
  for (size_t i = 0; i < half; ++i) {
    const double angle = position * frequencies[i];
    const auto cosine = static_cast<float>(std::cos(angle));
    const auto sine = static_cast<float>(std::sin(angle));
    for (size_t head = 0; head < x.size(); head += 2 * half) {
      const float a = x[head + i];
      const float b = x[head + i + half];
      x[head + i] = a * cosine - b * sine;
      x[head + i + half] = b * cosine + a * sine;
    }
  }
}

void attention_ref(std::span<float> out, std::span<const float> q, std::span<const float> keys,
                   std::span<const float> values, uint32_t kv_heads, uint32_t head_dim) {
  const size_t row = size_t{kv_heads} * head_dim;
  PS_CHECK(row > 0 && q.size() % row == 0 && out.size() == q.size());
  PS_CHECK(!keys.empty() && keys.size() % row == 0 && values.size() == keys.size());
  const size_t positions = keys.size() / row;
  const size_t group = q.size() / row;
  const double scale = 1.0 / std::sqrt(static_cast<double>(head_dim));
  std::vector<double> p(positions);
  for (size_t head = 0; head < q.size() / head_dim; ++head) {
    const size_t kv = head / group * head_dim;
    for (size_t t = 0; t < positions; ++t)
      p[t]
        = dot(q.subspan(head * head_dim, head_dim), keys.subspan(t * row + kv, head_dim)) * scale;
    const double top = *std::max_element(p.begin(), p.end());
    double sum = 0.0;
    for (double& e : p)
      sum += e = std::exp(e - top);
    for (size_t d = 0; d < head_dim; ++d) {
      double mixed = 0.0;
      for (size_t t = 0; t < positions; ++t)
        mixed += p[t] * values[t * row + kv + d];
      out[head * head_dim + d] = static_cast<float>(mixed / sum);
    }
  }
}

void silu_mul_ref(std::span<float> out, std::span<const float> gate, std::span<const float> up) {
  PS_CHECK(out.size() == gate.size() && gate.size() == up.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void log_softmax_ref(std::span<float> x) {
  PS_CHECK(!x.empty());
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0.0;
  for (const float value : x)
    sum += std::exp(value - top);
  const double log_sum = top + std::log(sum);
  for (float& value : x)
    value = static_cast<float>(value - log_sum);
}

token_id argmax_ref(std::span<const float> x) {
  PS_CHECK(!x.empty());
  return static_cast<token_id>(std::max_element(x.begin(), x.end()) - x.begin());
}

} // namespace penstock::model
