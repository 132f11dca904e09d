// Sixteen floats as two ymm registers. Meaning of each name: simd_scalar.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace penstock::gpu {
namespace {

struct avx2_simd {
  struct vec {
    __m256 low;
    __m256 high;
  };
  static constexpr unsigned rows = 6;
  static constexpr unsigned registers = 6;

  static vec set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static vec load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static vec load_first(const float* p, unsigned n) {
    return {_mm256_maskload_ps(p, mask_low(n)), _mm256_maskload_ps(p + 8, mask_high(n))};
  }
  static vec load_bf16(const uint16_t* p) {
    const __m256i low = _mm256_cvtepu16_epi32(half_at(p));
    const __m256i high = _mm256_cvtepu16_epi32(half_at(p + 8));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
            _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))};
  }
  static vec load_f16(const uint16_t* p) {
    return {_mm256_cvtph_ps(half_at(p)), _mm256_cvtph_ps(half_at(p + 8))};
  }
  static void store(float* p, vec v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
  }
  static void store_first(float* p, vec v, unsigned n) {
    _mm256_maskstore_ps(p, mask_low(n), v.low);
    _mm256_maskstore_ps(p + 8, mask_high(n), v.high);
  }

  static vec fma(vec a, vec b, vec c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  static vec fma_minus(vec a, vec b, vec c) {
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
  }
  static vec add(vec a, vec b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static vec sub(vec a, vec b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static vec mul(vec a, vec b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static vec div(vec a, vec b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  static vec max(vec a, vec b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static vec min(vec a, vec b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  static vec zero_where_less(vec v, vec x, vec limit) {
    return {_mm256_andnot_ps(_mm256_cmp_ps(x.low, limit.low, _CMP_LT_OQ), v.low),
            _mm256_andnot_ps(_mm256_cmp_ps(x.high, limit.high, _CMP_LT_OQ), v.high)};
  }
  static vec keep_first(vec v, unsigned n, vec rest) {
    return {_mm256_blendv_ps(rest.low, v.low, _mm256_castsi256_ps(mask_low(n))),
            _mm256_blendv_ps(rest.high, v.high, _mm256_castsi256_ps(mask_high(n)))};
  }
  static vec power_of_two(vec t) { return {power_of_two_8(t.low), power_of_two_8(t.high)}; }

  static float tree(vec v) {
    const __m256 eight = _mm256_add_ps(v.low, v.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps(two, two, 1)));
  }
  static float largest(vec v) {
    const __m256 eight = _mm256_max_ps(v.low, v.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps(two, two, 1)));
  }

private:
  static __m128i half_at(const uint16_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static __m256i mask_low(unsigned n) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
  }
  static __m256i mask_high(unsigned n) {
    const __m256i lanes = _mm256_setr_epi32(8, 9, 10, 11, 12, 13, 14, 15);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
  }
  static __m256 power_of_two_8(__m256 t) {
    const __m256i shifted = _mm256_slli_epi32(_mm256_castps_si256(t), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(shifted, _mm256_set1_epi32(0x3f800000)));
  }
};

} // namespace
} // namespace penstock::gpu
