// Sixteen floats as plain C++: the reading of docs/numerics.md that the other paths must equal.
//
// The three simd_*.hpp have the same names with the same meaning; kernel templates take one of them
// as `S`. Everything lives in an unnamed namespace, so that no code built with wider instructions
// can be linked into a translation unit built without them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace penstock::gpu {
namespace {

struct scalar_simd {
  struct vec {
    float lane[16];
  };
  static constexpr unsigned rows = 4;      ///< Rows of a product tile.
  static constexpr unsigned registers = 4; ///< Accumulators (of 16 floats) worth having at once.

  template <class Op>
  static vec map(Op op) {
    vec out;
    for (unsigned i = 0; i < 16; ++i)
      out.lane[i] = op(i);
    return out;
  }
  static uint32_t bits_of(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  static float float_of(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }

  static vec set(float x) {
    return map([&](unsigned) { return x; });
  }
  static vec load(const float* p) {
    return map([&](unsigned i) { return p[i]; });
  }
  /// Lanes from n on are 0. n < 16.
  static vec load_first(const float* p, unsigned n) {
    return map([&](unsigned i) { return i < n ? p[i] : 0.0F; });
  }
  static vec load_bf16(const uint16_t* p) {
    return map([&](unsigned i) { return float_of(uint32_t{p[i]} << 16U); });
  }
  static vec load_f16(const uint16_t* p) {
    return map([&](unsigned i) { return widen_f16(p[i]); });
  }
  static void store(float* p, vec v) { std::memcpy(p, v.lane, sizeof v.lane); }
  static void store_first(float* p, vec v, unsigned n) {
    for (unsigned i = 0; i < n; ++i)
      p[i] = v.lane[i];
  }

  static vec fma(vec a, vec b, vec c) {
    return map([&](unsigned i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
  }
  /// -a * b + c, rounded once.
  static vec fma_minus(vec a, vec b, vec c) {
    return map([&](unsigned i) { return std::fma(-a.lane[i], b.lane[i], c.lane[i]); });
  }
  static vec add(vec a, vec b) {
    return map([&](unsigned i) { return a.lane[i] + b.lane[i]; });
  }
  static vec sub(vec a, vec b) {
    return map([&](unsigned i) { return a.lane[i] - b.lane[i]; });
  }
  static vec mul(vec a, vec b) {
    return map([&](unsigned i) { return a.lane[i] * b.lane[i]; });
  }
  static vec div(vec a, vec b) {
    return map([&](unsigned i) { return a.lane[i] / b.lane[i]; });
  }
  /// a > b ? a : b
  static vec max(vec a, vec b) {
    return map([&](unsigned i) { return a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  /// a < b ? a : b
  static vec min(vec a, vec b) {
    return map([&](unsigned i) { return a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i]; });
  }
  /// v, but 0 in lanes where x < limit.
  static vec zero_where_less(vec v, vec x, vec limit) {
    return map([&](unsigned i) { return x.lane[i] < limit.lane[i] ? 0.0F : v.lane[i]; });
  }
  /// v in lanes below n, `rest` in the others. n <= 16.
  static vec keep_first(vec v, unsigned n, vec rest) {
    return map([&](unsigned i) { return i < n ? v.lane[i] : rest.lane[i]; });
  }
  /// 2^n, where t = 1.5 * 2^23 + n.
  static vec power_of_two(vec t) {
    return map([&](unsigned i) { return float_of((bits_of(t.lane[i]) << 23U) + 0x3f800000U); });
  }
  /// The fixed tree: halves onto each other, 8, 4, 2, 1.
  static float tree(vec v) {
    for (unsigned width = 8; width > 0; width /= 2)
      for (unsigned i = 0; i < width; ++i)
        v.lane[i] += v.lane[i + width];
    return v.lane[0];
  }
  static float largest(vec v) {
    for (unsigned width = 8; width > 0; width /= 2)
      for (unsigned i = 0; i < width; ++i)
        v.lane[i] = v.lane[i] > v.lane[i + width] ? v.lane[i] : v.lane[i + width];
    return v.lane[0];
  }

private:
  static float widen_f16(uint16_t half) {
    const uint32_t sign = (half & 0x8000U) << 16U;
    const uint32_t exponent = (half >> 10U) & 31U;
    const uint32_t fraction = half & 0x3ffU;
    if (exponent == 0) {
      const float value = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -value : value;
    }
    if (exponent == 31)
      return float_of(sign | 0x7f800000U | (fraction << 13U));
    return float_of(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
  }
};

} // namespace
} // namespace penstock::gpu
