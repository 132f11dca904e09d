#include "gpu/sampler.hpp"

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/elementary.hpp"

#include <cmath>

namespace penstock::gpu {

namespace {

/// @param weights Not negative, the largest of them 1.
token_id draw(std::span<const float> weights, float unit) {
  double total = 0.0;
  for (const float weight : weights)
    total = total + static_cast<double>(weight);
  const double target = static_cast<double>(unit) * total;
  double sum = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum = sum + static_cast<double>(weights[i]);
    if (sum > target)
      return static_cast<token_id>(i);
  }
  PS_UNREACHABLE(); // unit < 1 and total >= 1, so target < total.
}

/// @returns The number of the first logit that is not finite, for the error.
size_t first_bad(std::span<const float> logits) {
  size_t i = 0;
  while (i + 1 < logits.size() && std::isfinite(logits[i]))
    ++i;
  return i;
}

} // namespace

result<generated_token> sample(const kernel_table& kernels, std::span<const float> logits,
                               std::span<float> scratch, const sampling_point& at) {
  PS_CHECK(!logits.empty());
  const logit_peak peak = kernels.peak(logits.data(), logits.size());
  if (!peak.finite)
    return error{errc::device_failed, "logit " + std::to_string(first_bad(logits))
                                        + " for position " + std::to_string(at.position)
                                        + " is not finite: wrong weights or damaged KV"};
  token_id token = peak.index;
  if (at.temperature > 0.0F) {
    PS_CHECK(scratch.size() >= logits.size());
    kernels.exp_scaled(scratch.data(), logits.data(), logits.size(), peak.value, at.temperature);
    token = draw(scratch.first(logits.size()), random_unit(at.seed, at.position));
  }
  const float sum = kernels.exp_sum(logits.data(), logits.size(), peak.value);
  const auto log_sum = static_cast<float>(log64(static_cast<double>(sum)));
  return generated_token{token, (logits[token] - peak.value) - log_sum};
}

} // namespace penstock::gpu
