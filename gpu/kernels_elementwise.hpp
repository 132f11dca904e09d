// Kernels over rows of numbers, written once over a simd wrapper `S`. Included by kernels_*.cpp
// only.
#pragma once

#include "gpu/kernels.hpp"

namespace penstock::gpu {
namespace {

/// docs/numerics.md, "Elementary functions".
template <class S>
typename S::vec exp_of(typename S::vec x) {
  using vec = typename S::vec;
  const vec shift = S::set(0x1.8p23F);
  vec y = S::min(S::set(88.0F), x);
  y = S::max(S::set(-87.0F), y);
  const vec t = S::fma(y, S::set(0x1.715476p+0F), shift);
  const vec n = S::sub(t, shift);
  vec r = S::fma(n, S::set(-0x1.62e4p-1F), y);
  r = S::fma(n, S::set(-0x1.7f7d1cp-20F), r);
  vec p = S::set(0x1.6d11fep-10F);
  p = S::fma(p, r, S::set(0x1.120c62p-7F));
  p = S::fma(p, r, S::set(0x1.555518p-5F));
  p = S::fma(p, r, S::set(0x1.5554dcp-3F));
  p = S::fma(p, r, S::set(0x1p-1F));
  p = S::fma(p, S::mul(r, r), r);
  p = S::add(p, S::set(1.0F));
  return S::zero_where_less(S::mul(p, S::power_of_two(t)), x, S::set(-87.0F));
}

/// Calls `op(offset, lanes)` for each 16 elements; lanes < 16 for the last ones.
template <class Op>
void for_each_vector(size_t count, Op op) {
  size_t i = 0;
  for (; i + lane_count <= count; i += lane_count)
    op(i, lane_count);
  if (i < count)
    op(i, static_cast<uint32_t>(count - i));
}

template <class S>
typename S::vec load_some(const float* p, uint32_t lanes) {
  return lanes == lane_count ? S::load(p) : S::load_first(p, lanes);
}

template <class S>
void store_some(float* p, typename S::vec v, uint32_t lanes) {
  if (lanes == lane_count)
    S::store(p, v);
  else
    S::store_first(p, v, lanes);
}

template <class S>
void rmsnorm(float* out, const float* x, const float* weight, uint32_t dim, float eps) {
  auto lanes_sum = S::set(0.0F);
  // Lanes past the end are 0 and add +0 to sums that are never -0: absent.
  for_each_vector(dim, [&](size_t i, uint32_t lanes) {
    const auto v = load_some<S>(x + i, lanes);
    lanes_sum = S::fma(v, v, lanes_sum);
  });
  const float mean = S::tree(lanes_sum) / static_cast<float>(dim);
  const auto inverse = S::set(1.0F / __builtin_sqrtf(mean + eps));
  for_each_vector(dim, [&](size_t i, uint32_t lanes) {
    const auto scaled = S::mul(load_some<S>(x + i, lanes), inverse);
    store_some<S>(out + i, S::mul(scaled, load_some<S>(weight + i, lanes)), lanes);
  });
}

template <class S>
void rope(float* x, uint32_t heads, uint32_t head_dim, const float* cosine, const float* sine) {
  const uint32_t half = head_dim / 2;
  for (uint32_t head = 0; head < heads; ++head) {
    float* low = x + size_t{head} * head_dim;
    for_each_vector(half, [&](size_t i, uint32_t lanes) {
      const auto c = load_some<S>(cosine + i, lanes);
      const auto s = load_some<S>(sine + i, lanes);
      const auto a = load_some<S>(low + i, lanes);
      const auto b = load_some<S>(low + half + i, lanes);
      store_some<S>(low + i, S::fma_minus(b, s, S::mul(a, c)), lanes);
      store_some<S>(low + half + i, S::fma(a, s, S::mul(b, c)), lanes);
    });
  }
}

template <class S>
void silu_mul(float* out, const float* gate, const float* up, size_t count) {
  for_each_vector(count, [&](size_t i, uint32_t lanes) {
    const auto g = load_some<S>(gate + i, lanes);
    const auto e = exp_of<S>(S::sub(S::set(0.0F), g));
    const auto silu = S::div(g, S::add(S::set(1.0F), e));
    store_some<S>(out + i, S::mul(silu, load_some<S>(up + i, lanes)), lanes);
  });
}

template <class S>
void add(float* x, const float* y, size_t count) {
  for_each_vector(count, [&](size_t i, uint32_t lanes) {
    store_some<S>(x + i, S::add(load_some<S>(x + i, lanes), load_some<S>(y + i, lanes)), lanes);
  });
}

template <class S>
void exp_scaled(float* out, const float* x, size_t count, float peak, float temperature) {
  for_each_vector(count, [&](size_t i, uint32_t lanes) {
    const auto shifted = S::sub(load_some<S>(x + i, lanes), S::set(peak));
    store_some<S>(out + i, exp_of<S>(S::div(shifted, S::set(temperature))), lanes);
  });
}

template <class S>
float exp_sum(const float* x, size_t count, float peak) {
  auto sum = S::set(0.0F);
  for_each_vector(count, [&](size_t i, uint32_t lanes) {
    const auto e = exp_of<S>(S::sub(load_some<S>(x + i, lanes), S::set(peak)));
    sum = S::add(sum, S::keep_first(e, lanes, S::set(0.0F)));
  });
  return S::tree(sum);
}

template <class S>
logit_peak peak(const float* x, size_t count) {
  auto most = S::set(-__builtin_inff());
  auto zeros = S::set(0.0F); // Becomes NaN at the first NaN or infinity.
  for_each_vector(count, [&](size_t i, uint32_t lanes) {
    const auto v = load_some<S>(x + i, lanes);
    zeros = S::fma(v, S::set(0.0F), zeros);
    most = S::max(S::keep_first(v, lanes, S::set(-__builtin_inff())), most);
  });
  const float check = S::tree(zeros);
  logit_peak out{S::largest(most), 0, check == check};
  while (out.finite && x[out.index] != out.value)
    ++out.index;
  out.value = x[out.index]; // Not the reduction's: of +0 and -0 it may have kept either.
  return out;
}

} // namespace
} // namespace penstock::gpu
