// One tile of paged attention, over a simd wrapper `S`. Included by kernels_attention.hpp only.
//
// Scores are vectors of 16 keys, so a lane is a key; lanes past a query's last key are computed
// from whatever the pool holds there and dropped before anything looks at them.
#pragma once

#include "base/limits.hpp"
#include "gpu/kernels_elementwise.hpp"

namespace penstock::gpu {
namespace {

template <class S>
struct attention_tiles {
  using vec = typename S::vec;
  static constexpr uint32_t tile = limits::attention_tile_tokens;
  static constexpr uint32_t groups = tile / lane_count;

  /// Vectors to run side by side for Q queries, so that the FMA units have enough chains.
  static constexpr unsigned together(unsigned queries) {
    const unsigned wanted = (S::registers >= 12 ? 8 : 4) / queries;
    return wanted >= 4 ? 4 : wanted >= 2 ? 2 : 1;
  }

  /// One (token, head). Arrays live in the caller's scratch.
  struct query {
    const float* in = nullptr; ///< [head_dim]
    float* out = nullptr;      ///< [head_dim], written once at the end.
    uint32_t keys = 0;         ///< Attends to positions [0, keys).
    float most = 0.0F;         ///< Running maximum.
    float* sum = nullptr;      ///< [head_dim], o of the numerics page.
    float* weight = nullptr;   ///< [tile], scores, then exp of them.
    float* lanes = nullptr;    ///< [16], L.
  };

  /// Where a tile's groups of 16 tokens lie.
  struct tile_place {
    const float* keys[groups];   ///< [head_dim][16]
    const float* values[groups]; ///< [16][head_dim]
    uint32_t first = 0;          ///< Position of the tile's first key.
    uint32_t groups_used = 0;
  };

  static tile_place place_of(const attention_args& args, uint32_t first, uint32_t keys_end) {
    tile_place at;
    at.first = first;
    for (uint32_t g = 0; g < groups && first + g * lane_count < keys_end; ++g) {
      const uint32_t position = first + g * lane_count;
      const uint32_t inside = position % args.block_tokens;
      const float* piece
        = args.layer + args.blocks[position / args.block_tokens] * args.piece_floats;
      const size_t token = size_t{args.key_head} * args.block_tokens + inside;
      at.keys[g] = piece + token * args.head_dim; // Whole groups of 16 precede it.
      at.values[g] = piece + args.piece_floats / 2 + token * args.head_dim;
      at.groups_used = g + 1;
    }
    return at;
  }

  /// Scores of G groups for Q queries.
  template <unsigned Q, unsigned G>
  static void scores(const attention_args& args, query* queries, const tile_place& at, uint32_t g) {
    vec sum[Q][G];
    for (unsigned q = 0; q < Q; ++q)
      for (unsigned i = 0; i < G; ++i)
        sum[q][i] = S::set(0.0F);
    for (size_t d = 0; d < args.head_dim; ++d) {
      vec key[G];
#pragma GCC unroll 4
      for (unsigned i = 0; i < G; ++i)
        key[i] = S::load(at.keys[g + i] + d * lane_count);
#pragma GCC unroll 4
      for (unsigned q = 0; q < Q; ++q) {
        const vec value = S::set(queries[q].in[d]);
#pragma GCC unroll 4
        for (unsigned i = 0; i < G; ++i)
          sum[q][i] = S::fma(value, key[i], sum[q][i]);
      }
    }
    for (unsigned q = 0; q < Q; ++q)
      for (unsigned i = 0; i < G; ++i)
        S::store(queries[q].weight + (g + i) * lane_count, S::mul(sum[q][i], S::set(args.scale)));
  }

  /// Steps 1 to 3 of the page for one query. @param count Its keys in this tile, > 0.
  static void weigh(query& q, const tile_place& at, uint32_t head_dim, uint32_t count) {
    const vec lowest = S::set(-__builtin_inff());
    vec most = lowest;
    for_each_vector(count, [&](size_t i, uint32_t lanes) {
      most = S::max(S::keep_first(S::load(q.weight + i), lanes, lowest), most);
    });
    float peak = S::largest(most);
    vec lane_sums = S::set(0.0F);
    if (at.first > 0) {
      peak = peak > q.most ? peak : q.most;
      const vec correction = exp_of<S>(S::set(q.most - peak));
      lane_sums = S::mul(S::load(q.lanes), correction);
      for_each_vector(head_dim, [&](size_t d, uint32_t lanes) {
        store_some<S>(q.sum + d, S::mul(load_some<S>(q.sum + d, lanes), correction), lanes);
      });
    }
    q.most = peak;
    for_each_vector(count, [&](size_t i, uint32_t lanes) {
      const vec e = exp_of<S>(S::sub(S::load(q.weight + i), S::set(peak)));
      const vec kept = S::keep_first(e, lanes, S::set(0.0F));
      S::store(q.weight + i, kept);
      lane_sums = S::add(lane_sums, kept);
    });
    S::store(q.lanes, lane_sums);
  }

  /// Step 4 for D vectors of dimensions, keys [begin, end) of the tile, Q queries that have them.
  template <unsigned Q, unsigned D, bool Whole>
  static void accumulate(const attention_args& args, query* queries, const tile_place& at, size_t d,
                         uint32_t begin, uint32_t end) {
    const uint32_t lanes = Whole ? lane_count : static_cast<uint32_t>(args.head_dim - d);
    vec sum[Q][D];
    for (unsigned q = 0; q < Q; ++q)
      for (unsigned i = 0; i < D; ++i)
        sum[q][i] = load_some<S>(queries[q].sum + d + i * lane_count, lanes);
    for (uint32_t j = begin; j < end; ++j) {
      const float* value = at.values[j / lane_count] + size_t{j % lane_count} * args.head_dim + d;
      vec part[D];
#pragma GCC unroll 4
      for (unsigned i = 0; i < D; ++i)
        part[i] = load_some<S>(value + i * lane_count, lanes);
#pragma GCC unroll 4
      for (unsigned q = 0; q < Q; ++q) {
        const vec weight = S::set(queries[q].weight[j]);
#pragma GCC unroll 4
        for (unsigned i = 0; i < D; ++i)
          sum[q][i] = S::fma(weight, part[i], sum[q][i]);
      }
    }
    for (unsigned q = 0; q < Q; ++q)
      for (unsigned i = 0; i < D; ++i)
        store_some<S>(queries[q].sum + d + i * lane_count, sum[q][i], lanes);
  }
};

} // namespace
} // namespace penstock::gpu
