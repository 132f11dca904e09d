// Where a key or value lies in a device's KV pool. Arithmetic only.
//
// The pool is [layer][block], each (layer, block) one *piece*: K for all its tokens, then V.
//   K  [kv_head][token / 16][head_dim][16 tokens]   so that one load takes 16 keys of one dimension
//   V  [kv_head][token][head_dim]                   so that one load takes dimensions of one value
// Pieces are what a digest covers; neighbouring blocks of a layer are contiguous.
#pragma once

#include "base/check.hpp"
#include "base/limits.hpp"

#include <cstddef>
#include <cstdint>

namespace penstock::gpu {

enum class kv_dtype : uint8_t { f32 = 0, bf16 = 1, f16 = 2 };

[[nodiscard]] constexpr size_t size_of(kv_dtype dtype) noexcept {
  return dtype == kv_dtype::f32 ? 4 : 2;
}

struct kv_layout {
  uint32_t layers = 0;
  uint32_t kv_heads = 0;
  uint32_t head_dim = 0;
  uint32_t block_tokens = 0; ///< A multiple of limits::block_tokens_multiple.
  uint32_t blocks = 0;       ///< Blocks in the pool.
  kv_dtype dtype = kv_dtype::f32;

  bool operator==(const kv_layout&) const = default;

  /// Bytes of K (or of V) in one piece.
  [[nodiscard]] constexpr size_t half_bytes() const noexcept {
    return size_t{kv_heads} * head_dim * block_tokens * size_of(dtype);
  }
  /// Bytes of one (layer, block).
  [[nodiscard]] constexpr size_t piece_bytes() const noexcept { return 2 * half_bytes(); }
  /// Bytes of the whole pool.
  [[nodiscard]] constexpr size_t pool_bytes() const noexcept {
    return piece_bytes() * layers * blocks;
  }
  /// Offset of a piece from the start of the pool, in bytes.
  [[nodiscard]] constexpr size_t piece_offset(uint32_t layer, uint32_t block) const noexcept {
    return (size_t{layer} * blocks + block) * piece_bytes();
  }
  /// Index, in elements from the start of a piece, of K[kv_head][token][dim].
  [[nodiscard]] constexpr size_t key_index(uint32_t head, uint32_t token, uint32_t dim) const {
    constexpr uint32_t group = limits::block_tokens_multiple;
    return ((size_t{head} * (block_tokens / group) + token / group) * head_dim + dim) * group
           + token % group;
  }
  /// Index, in elements from the start of V's half, of V[kv_head][token][dim].
  [[nodiscard]] constexpr size_t value_index(uint32_t head, uint32_t token, uint32_t dim) const {
    return (size_t{head} * block_tokens + token) * head_dim + dim;
  }
  /// Blocks that hold `tokens` tokens.
  [[nodiscard]] constexpr uint32_t blocks_for(uint32_t tokens) const noexcept {
    return (tokens + block_tokens - 1) / block_tokens;
  }
};

} // namespace penstock::gpu
