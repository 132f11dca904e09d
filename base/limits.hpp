// Every compile-time bound that two folders share, with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::limits {

/// A prompt that does not fit this is refused before it is tokenized.
inline constexpr size_t prompt_bytes_max = size_t{8} << 20U;
/// One message between nodes. The largest legal one is `book` with a full prompt of ids.
inline constexpr size_t message_bytes_max = size_t{64} << 20U;
/// Largest context we lay out block tables for.
inline constexpr uint32_t context_tokens_max = 1U << 20U;
/// Steps a device accepts before the first of them has ended: one runs, one waits.
inline constexpr uint32_t steps_queued_max = 2;
/// Keys per attention tile; see docs/numerics.md. Part of the numerics id.
inline constexpr uint32_t attention_tile_tokens = 64;
/// Products of this many K are one chain; see docs/numerics.md. Part of the numerics id.
inline constexpr uint32_t product_block = 512;
/// KV blocks hold a multiple of this many tokens, because K is stored in groups of it.
inline constexpr uint32_t block_tokens_multiple = 16;

static_assert(attention_tile_tokens % block_tokens_multiple == 0);

} // namespace penstock::limits
