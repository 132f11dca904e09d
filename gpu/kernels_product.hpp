// Matrix products over packed panels, written once over a simd wrapper `S`. Included by
// kernels_*.cpp.
//
// A tile is R rows by P panels held in registers for one block of K. Tiles of a group of panels run
// while the group's weights are in L2, so weights come from memory once whatever the rows.
#pragma once

#include "base/limits.hpp"
#include "gpu/kernels.hpp"

namespace penstock::gpu {
namespace {

/// Loads 16 weights from the packed element type.
template <class S, weight_dtype Dtype>
struct weight_reader;

template <class S>
struct weight_reader<S, weight_dtype::f32> {
  using element = float;
  static typename S::vec load(const element* p) { return S::load(p); }
};
template <class S>
struct weight_reader<S, weight_dtype::bf16> {
  using element = uint16_t;
  static typename S::vec load(const element* p) { return S::load_bf16(p); }
};
template <class S>
struct weight_reader<S, weight_dtype::f16> {
  using element = uint16_t;
  static typename S::vec load(const element* p) { return S::load_f16(p); }
};

/// Panels whose weights of one block of K (16 * 512 floats each) stay in L2 together.
inline constexpr uint32_t panel_group = 8;

template <class S, class Reader>
struct product_tiles {
  using element = typename Reader::element;

  /// One block of K: the chain of each output, then the running sum. @param first Of its blocks.
  template <unsigned R, unsigned P>
  static void tile(const product_args& args, uint32_t row, uint32_t panel, uint32_t k_begin,
                   uint32_t k_end) {
    typename S::vec sum[R][P];
    for (unsigned r = 0; r < R; ++r)
      for (unsigned p = 0; p < P; ++p)
        sum[r][p] = S::set(0.0F);
    const float* x = args.x + row * args.x_stride;
    const size_t panel_size = size_t{args.depth} * lane_count;
    const element* w = static_cast<const element*>(args.weights) + panel * panel_size;
    for (size_t k = k_begin; k < k_end; ++k) {
      typename S::vec weight[P];
#pragma GCC unroll 16
      for (unsigned p = 0; p < P; ++p)
        weight[p] = Reader::load(w + p * panel_size + k * lane_count);
#pragma GCC unroll 16
      for (unsigned r = 0; r < R; ++r) {
        const auto value = S::set(x[r * args.x_stride + k]);
#pragma GCC unroll 16
        for (unsigned p = 0; p < P; ++p)
          sum[r][p] = S::fma(value, weight[p], sum[r][p]);
      }
    }
    float* out = args.out + row * args.out_stride + size_t{panel} * lane_count;
    for (unsigned r = 0; r < R; ++r)
      for (unsigned p = 0; p < P; ++p) {
        float* to = out + r * args.out_stride + size_t{p} * lane_count;
        S::store(to, k_begin == 0 ? sum[r][p] : S::add(S::load(to), sum[r][p]));
      }
  }

  /// R rows over panels [begin, end).
  template <unsigned R>
  static void strip(const product_args& args, uint32_t row, uint32_t begin, uint32_t end,
                    uint32_t k_begin, uint32_t k_end) {
    constexpr unsigned wide = S::registers / R >= 4 ? 4 : S::registers / R >= 2 ? 2 : 1;
    uint32_t panel = begin;
    for (; panel + wide <= end; panel += wide)
      tile<R, wide>(args, row, panel, k_begin, k_end);
    for (; panel < end; ++panel)
      tile<R, 1>(args, row, panel, k_begin, k_end);
  }

  /// Picks the strip for a row count known only now, in [1, R].
  template <unsigned R>
  static void strip_of(uint32_t rows, const product_args& args, uint32_t row, uint32_t begin,
                       uint32_t end, uint32_t k_begin, uint32_t k_end) {
    if (rows == R)
      return strip<R>(args, row, begin, end, k_begin, k_end);
    if constexpr (R > 1)
      strip_of<R - 1>(rows, args, row, begin, end, k_begin, k_end);
  }

  static void run(const product_args& args) {
    if (args.rows == 0)
      return;
    // Rows are shared evenly among the fewest tiles: 7 rows are 4 + 3, not 6 + 1.
    const uint32_t tiles = (args.rows + S::rows - 1) / S::rows;
    for (uint32_t begin = args.panel_begin; begin < args.panel_end; begin += panel_group) {
      const uint32_t left = args.panel_end - begin;
      const uint32_t end = begin + (left < panel_group ? left : panel_group);
      for (uint32_t k = 0; k < args.depth; k += limits::product_block) {
        const uint32_t k_left = args.depth - k;
        const uint32_t k_end
          = k + (k_left < limits::product_block ? k_left : limits::product_block);
        uint32_t row = 0;
        for (uint32_t tile_index = 0; tile_index < tiles; ++tile_index) {
          const uint32_t rows = args.rows / tiles + (tile_index < args.rows % tiles ? 1U : 0U);
          strip_of<S::rows>(rows, args, row, begin, end, k, k_end);
          row += rows;
        }
      }
    }
  }
};

template <class S>
void product(const product_args& args) {
  switch (args.dtype) {
  case weight_dtype::f32:
    return product_tiles<S, weight_reader<S, weight_dtype::f32>>::run(args);
  case weight_dtype::bf16:
    return product_tiles<S, weight_reader<S, weight_dtype::bf16>>::run(args);
  case weight_dtype::f16:
    return product_tiles<S, weight_reader<S, weight_dtype::f16>>::run(args);
  }
}

} // namespace
} // namespace penstock::gpu
