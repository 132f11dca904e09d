#include "gpu/sampler.hpp"

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/elementary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace penstock::gpu {

namespace {

/// Ids in the order of their logits: the largest first, of equals the lowest id.
struct likelier {
  std::span<const float> logits;
  bool operator()(token_id a, token_id b) const {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  }
};

/// Sums in ascending order.
double sum_of(std::span<const float> weights) {
  double total = 0.0;
  for (const float weight : weights)
    total = total + static_cast<double>(weight);
  return total;
}

/// @param order The ids in question, in any order; the first ones returned are put in order.
/// @returns How many of the likeliest have at least `target` of the weights' sum.
size_t count_reaching(double target, std::span<const float> weights, std::span<token_id> order,
                      const likelier& before) {
  constexpr size_t first_guess = 64; // Usually enough; sorting all would cost more than drawing.
  size_t sorted = 0;
  double sum = 0.0;
  for (size_t batch = first_guess; sorted < order.size(); batch *= 4) {
    const auto end = std::min(sorted + batch, order.size());
    const auto at = [order](size_t i) { return order.begin() + static_cast<ptrdiff_t>(i); };
    std::partial_sort(at(sorted), at(end), order.end(), before);
    for (; sorted < end; ++sorted) {
      sum = sum + static_cast<double>(weights[order[sorted]]);
      if (sum >= target)
        return sorted + 1;
    }
  }
  return order.size(); // Rounding: the sum in this order stayed below.
}

/// Sets the weights that top_k, top_p and min_p leave out to 0.
/// @param weights exp((logit - largest) / temperature).
void leave_out(std::span<const float> logits, std::span<float> weights, std::span<token_id> order,
               const draw_rules& rules) {
  const likelier before{logits};
  const auto drop_from = [&](size_t kept) {
    for (const token_id id : order.subspan(kept))
      weights[id] = 0.0F;
    order = order.first(kept);
  };
  const bool limits_count = rules.top_k > 0 && rules.top_k < logits.size();
  if (limits_count || rules.top_p < 1.0F)
    std::iota(order.begin(), order.end(), token_id{0});
  if (limits_count) {
    std::nth_element(order.begin(), order.begin() + rules.top_k, order.end(), before);
    drop_from(rules.top_k);
  }
  if (rules.top_p < 1.0F) {
    const double target = static_cast<double>(rules.top_p) * sum_of(weights);
    drop_from(count_reaching(target, weights, order, before));
  }
  for (float& weight : weights)
    if (weight < rules.min_p)
      weight = 0.0F;
}

/// @param weights Not negative, the largest of them 1.
token_id draw(std::span<const float> weights, float unit) {
  const double target = static_cast<double>(unit) * sum_of(weights);
  double sum = 0.0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum = sum + static_cast<double>(weights[i]);
    if (sum > target)
      return static_cast<token_id>(i);
  }
  PS_UNREACHABLE(); // unit < 1 and total >= 1, so target < total.
}

/// docs/numerics.md, "Sampling", 1 and 2. @param logits In place. Ids beyond them mean nothing.
void penalise(std::span<float> logits, const sampling_point& at) {
  constexpr float largest = std::numeric_limits<float>::max();
  const float penalty = at.rules.repetition_penalty;
  if (penalty != 1.0F)
    for (const token_id id : at.seen)
      if (id < logits.size()) {
        const float x = logits[id];
        logits[id] = std::clamp(x > 0.0F ? x / penalty : x * penalty, -largest, largest);
      }
  for (const token_id id : at.barred)
    if (id < logits.size())
      logits[id] = -largest;
}

/// @param order Overwritten.
/// @returns The first `count` tokens by rank in the logits as the model gave them.
std::vector<token_logprob> likeliest(std::span<const float> logits, std::span<token_id> order,
                                     uint32_t count, float largest, float log_sum) {
  const auto kept = std::min<size_t>(count, logits.size());
  std::iota(order.begin(), order.end(), token_id{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                    likelier{logits});
  std::vector<token_logprob> out;
  out.reserve(kept);
  for (const token_id id : order.first(kept))
    out.push_back({id, (logits[id] - largest) - log_sum});
  return out;
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
                               sampling_scratch& scratch, const sampling_point& at) {
  PS_CHECK(!logits.empty());
  const logit_peak peak = kernels.peak(logits.data(), logits.size());
  if (!peak.finite)
    return error{errc::device_failed, "logit " + std::to_string(first_bad(logits))
                                        + " for position " + std::to_string(at.position)
                                        + " is not finite: wrong weights or damaged KV"};
  PS_CHECK(scratch.weights.size() >= logits.size());
  auto allowed = logits;
  logit_peak allowed_peak = peak;
  if (at.rules.repetition_penalty != 1.0F || !at.barred.empty()) {
    const auto changed = std::span{scratch.logits}.first(logits.size());
    std::copy(logits.begin(), logits.end(), changed.begin());
    penalise(changed, at);
    allowed = changed;
    allowed_peak = kernels.peak(allowed.data(), allowed.size());
  }
  token_id token = allowed_peak.index;
  if (at.rules.temperature > 0.0F) {
    const auto weights = std::span{scratch.weights}.first(logits.size());
    kernels.exp_scaled(weights.data(), allowed.data(), allowed.size(), allowed_peak.value,
                       at.rules.temperature);
    leave_out(allowed, weights, std::span{scratch.order}.first(logits.size()), at.rules);
    token = draw(weights, random_unit(at.rules.seed, at.position));
  }
  const float sum = kernels.exp_sum(logits.data(), logits.size(), peak.value);
  const auto log_sum = static_cast<float>(log64(static_cast<double>(sum)));
  generated_token out{token, (logits[token] - peak.value) - log_sum};
  if (at.rules.top_logprobs > 0)
    out.top = likeliest(logits, std::span{scratch.order}.first(logits.size()),
                        at.rules.top_logprobs, peak.value, log_sum);
  return out;
}

} // namespace penstock::gpu
