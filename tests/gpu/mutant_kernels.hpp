// Kernel tables with one wrong kernel each: plausible, accurate, and dependent on company.
//
// Each is a mistake that real kernels make. row_independence_test must catch every one.
#pragma once

#include "base/limits.hpp"
#include "gpu/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace penstock::gpu {

/// Sums blocks of K in descending order when there is more than one row.
inline void product_in_block_order(const product_args& args) {
  const auto* weights = static_cast<const float*>(args.weights);
  for (uint32_t row = 0; row < args.rows; ++row)
    for (uint32_t n = args.panel_begin * lane_count; n < args.panel_end * lane_count; ++n) {
      std::vector<float> sums;
      for (uint32_t k = 0; k < args.depth; ++k) {
        if (k % limits::product_block == 0)
          sums.push_back(0.0F);
        const float w
          = weights[(size_t{n} / lane_count * args.depth + k) * lane_count + n % lane_count];
        sums.back() = std::fma(args.x[row * args.x_stride + k], w, sums.back());
      }
      if (args.rows > 1)
        std::reverse(sums.begin(), sums.end());
      float y = sums[0];
      for (size_t i = 1; i < sums.size(); ++i)
        y += sums[i];
      args.out[row * args.out_stride + n] = y;
    }
}

/// One long chain over K when there are four rows or more: what a wider tile might do.
inline void product_in_one_chain(const product_args& args) {
  const auto* weights = static_cast<const float*>(args.weights);
  const uint32_t block = args.rows >= 4 ? args.depth : limits::product_block;
  for (uint32_t row = 0; row < args.rows; ++row)
    for (uint32_t n = args.panel_begin * lane_count; n < args.panel_end * lane_count; ++n) {
      float y = 0.0F;
      for (uint32_t begin = 0; begin < args.depth; begin += block) {
        float sum = 0.0F;
        for (uint32_t k = begin; k < std::min(args.depth, begin + block); ++k) {
          const float w
            = weights[(size_t{n} / lane_count * args.depth + k) * lane_count + n % lane_count];
          sum = std::fma(args.x[row * args.x_stride + k], w, sum);
        }
        y = begin == 0 ? sum : y + sum;
      }
      args.out[row * args.out_stride + n] = y;
    }
}

/// Online softmax whose tiles begin where the call's tokens begin: earlier keys, then the chunk's.
inline void attention_per_chunk(const attention_args& args) {
  const auto place = [&](uint32_t position) {
    const uint32_t inside = position % args.block_tokens;
    const float* piece = args.layer + args.blocks[position / args.block_tokens] * args.piece_floats;
    const size_t token = size_t{args.key_head} * args.block_tokens;
    return std::pair{piece + (token + inside / 16 * 16) * args.head_dim + inside % 16,
                     piece + args.piece_floats / 2 + (token + inside) * args.head_dim};
  };
  for (uint32_t t = 0; t < args.tokens; ++t)
    for (uint32_t h = 0; h < args.group; ++h) {
      const size_t at = size_t{args.query_head + h} * args.head_dim;
      const float* q = args.query + t * args.query_stride + at;
      float* o = args.out + t * args.out_stride + at;
      std::fill_n(o, args.head_dim, 0.0F);
      const uint32_t keys = args.first_position + t + 1;
      const uint32_t ends[] = {args.first_position, keys};
      float most = -INFINITY;
      float sum = 0.0F;
      uint32_t begin = 0;
      for (const uint32_t end : ends) {
        std::vector<float> s;
        for (uint32_t j = begin; j < end; ++j) {
          float dot = 0.0F;
          for (uint32_t d = 0; d < args.head_dim; ++d)
            dot = std::fma(q[d], place(j).first[d * 16], dot);
          s.push_back(dot * args.scale);
        }
        if (s.empty())
          continue;
        const float peak = std::max(most, *std::max_element(s.begin(), s.end()));
        const float correction = std::exp(most - peak);
        sum *= correction;
        for (uint32_t d = 0; d < args.head_dim; ++d)
          o[d] *= correction;
        for (uint32_t j = begin; j < end; ++j) {
          const float w = std::exp(s[j - begin] - peak);
          sum += w;
          for (uint32_t d = 0; d < args.head_dim; ++d)
            o[d] = std::fma(w, place(j).second[d], o[d]);
        }
        most = peak;
        begin = end;
      }
      for (uint32_t d = 0; d < args.head_dim; ++d)
        o[d] /= sum;
    }
}

} // namespace penstock::gpu
