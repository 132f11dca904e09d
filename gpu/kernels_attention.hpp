// Paged attention, written once over a simd wrapper `S`. Included by kernels_*.cpp only.
//
// Up to four queries (a token and a head each) of one key head go through the tiles together and
// share every load of K and V. Each keeps its own running maximum, lanes and end: what its company
// is changes nothing for it.
#pragma once

#include "gpu/kernels_attention_tile.hpp"

namespace penstock::gpu {
namespace {

inline constexpr unsigned queries_together = 4;

/// Step 4 over all dimensions, for keys [begin, end) of the tile.
template <class S, unsigned Q>
void accumulate_all(const attention_args& args, typename attention_tiles<S>::query* queries,
                    const typename attention_tiles<S>::tile_place& at, uint32_t begin,
                    uint32_t end) {
  using tiles = attention_tiles<S>;
  constexpr unsigned wide = tiles::together(Q);
  size_t d = 0;
  for (; d + wide * lane_count <= args.head_dim; d += wide * lane_count)
    tiles::template accumulate<Q, wide, true>(args, queries, at, d, begin, end);
  for (; d + lane_count <= args.head_dim; d += lane_count)
    tiles::template accumulate<Q, 1, true>(args, queries, at, d, begin, end);
  if (d < args.head_dim)
    tiles::template accumulate<Q, 1, false>(args, queries, at, d, begin, end);
}

/// Runs one tile for Q queries that all have keys in it, fewest keys first.
template <class S, unsigned Q>
void attend_tile(const attention_args& args, typename attention_tiles<S>::query* queries,
                 const typename attention_tiles<S>::tile_place& at) {
  using tiles = attention_tiles<S>;
  constexpr unsigned wide = tiles::together(Q);
  uint32_t g = 0;
  for (; g + wide <= at.groups_used; g += wide)
    tiles::template scores<Q, wide>(args, queries, at, g);
  for (; g < at.groups_used; ++g)
    tiles::template scores<Q, 1>(args, queries, at, g);
  uint32_t counts[Q];
  for (unsigned q = 0; q < Q; ++q) {
    const uint32_t left = queries[q].keys - at.first;
    counts[q] = left < tiles::tile ? left : tiles::tile;
    tiles::weigh(queries[q], at, args.head_dim, counts[q]);
  }
  accumulate_all<S, Q>(args, queries, at, 0, counts[0]);
  for (unsigned q = 1; q < Q; ++q)
    if (counts[q] > counts[0])
      accumulate_all<S, 1>(args, queries + q, at, counts[0], counts[q]);
}

/// Picks attend_tile for a query count known only now, in [1, Q].
template <class S, unsigned Q>
void attend_tile_of(unsigned count, const attention_args& args,
                    typename attention_tiles<S>::query* queries,
                    const typename attention_tiles<S>::tile_place& at) {
  if (count == Q)
    return attend_tile<S, Q>(args, queries, at);
  if constexpr (Q > 1)
    attend_tile_of<S, Q - 1>(count, args, queries, at);
}

/// Walks all tiles for `count` queries, fewest keys first, and writes their outputs.
template <class S>
void attend(const attention_args& args, typename attention_tiles<S>::query* queries,
            unsigned count) {
  using tiles = attention_tiles<S>;
  const uint32_t keys_end = queries[count - 1].keys;
  for (unsigned q = 0; q < count; ++q)
    for_each_vector(args.head_dim, [&](size_t d, uint32_t lanes) {
      store_some<S>(queries[q].sum + d, S::set(0.0F), lanes);
    });
  unsigned first_active = 0;
  for (uint32_t first = 0; first < keys_end; first += tiles::tile) {
    while (queries[first_active].keys <= first)
      ++first_active;
    const auto at = tiles::place_of(args, first, keys_end);
    attend_tile_of<S, queries_together>(count - first_active, args, queries + first_active, at);
  }
  for (unsigned q = 0; q < count; ++q) {
    const auto total = S::set(S::tree(S::load(queries[q].lanes)));
    for_each_vector(args.head_dim, [&](size_t d, uint32_t lanes) {
      store_some<S>(queries[q].out + d, S::div(load_some<S>(queries[q].sum + d, lanes), total),
                    lanes);
    });
  }
}

template <class S>
void attention(const attention_args& args) {
  using tiles = attention_tiles<S>;
  typename tiles::query queries[queries_together];
  for (unsigned q = 0; q < queries_together; ++q) {
    queries[q].weight = args.scratch + q * (tiles::tile + lane_count + args.head_dim);
    queries[q].lanes = queries[q].weight + tiles::tile;
    queries[q].sum = queries[q].lanes + lane_count;
  }
  const uint32_t total = args.tokens * args.group;
  for (uint32_t begin = 0; begin < total; begin += queries_together) {
    const uint32_t left = total - begin;
    const unsigned count = left < queries_together ? left : queries_together;
    for (unsigned q = 0; q < count; ++q) {
      const uint32_t token = (begin + q) / args.group;
      const size_t head = args.query_head + (begin + q) % args.group;
      queries[q].in = args.query + token * args.query_stride + head * args.head_dim;
      queries[q].out = args.out + token * args.out_stride + head * args.head_dim;
      queries[q].keys = args.first_position + token + 1;
    }
    attend<S>(args, queries, count);
  }
}

} // namespace
} // namespace penstock::gpu
