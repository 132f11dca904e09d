// Sixteen floats as one zmm register. Meaning of each name: simd_scalar.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace penstock::gpu {
namespace {

struct avx512_simd {
  struct vec {
    __m512 all;
  };
  static constexpr unsigned rows = 12;
  static constexpr unsigned registers = 12;

  static vec set(float x) { return {_mm512_set1_ps(x)}; }
  static vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  static vec load_first(const float* p, unsigned n) { return {_mm512_maskz_loadu_ps(mask(n), p)}; }
  static vec load_bf16(const uint16_t* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(half_at(p));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
  }
  static vec load_f16(const uint16_t* p) { return {_mm512_cvtph_ps(half_at(p))}; }
  static void store(float* p, vec v) { _mm512_storeu_ps(p, v.all); }
  static void store_first(float* p, vec v, unsigned n) { _mm512_mask_storeu_ps(p, mask(n), v.all); }

  static vec fma(vec a, vec b, vec c) { return {_mm512_fmadd_ps(a.all, b.all, c.all)}; }
  static vec fma_minus(vec a, vec b, vec c) { return {_mm512_fnmadd_ps(a.all, b.all, c.all)}; }
  static vec add(vec a, vec b) { return {_mm512_add_ps(a.all, b.all)}; }
  static vec sub(vec a, vec b) { return {_mm512_sub_ps(a.all, b.all)}; }
  static vec mul(vec a, vec b) { return {_mm512_mul_ps(a.all, b.all)}; }
  static vec div(vec a, vec b) { return {_mm512_div_ps(a.all, b.all)}; }
  static vec max(vec a, vec b) { return {_mm512_max_ps(a.all, b.all)}; }
  static vec min(vec a, vec b) { return {_mm512_min_ps(a.all, b.all)}; }
  static vec zero_where_less(vec v, vec x, vec limit) {
    const __mmask16 less = _mm512_cmp_ps_mask(x.all, limit.all, _CMP_LT_OQ);
    return {_mm512_mask_blend_ps(less, v.all, _mm512_setzero_ps())};
  }
  static vec keep_first(vec v, unsigned n, vec rest) {
    return {_mm512_mask_blend_ps(mask(n), rest.all, v.all)};
  }
  static vec power_of_two(vec t) {
    const __m512i shifted = _mm512_slli_epi32(_mm512_castps_si512(t.all), 23);
    return {_mm512_castsi512_ps(_mm512_add_epi32(shifted, _mm512_set1_epi32(0x3f800000)))};
  }

  static float tree(vec v) {
    const __m256 eight = _mm256_add_ps(low_half(v.all), high_half(v.all));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static float largest(vec v) {
    const __m256 eight = _mm256_max_ps(low_half(v.all), high_half(v.all));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

private:
  static __m256i half_at(const uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static __mmask16 mask(unsigned n) { return static_cast<__mmask16>((1U << n) - 1U); }
  static __m256 low_half(__m512 v) { return _mm512_castps512_ps256(v); }
  static __m256 high_half(__m512 v) {
    return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v), 1));
  }
};

} // namespace
} // namespace penstock::gpu
