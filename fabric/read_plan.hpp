// Cuts a set of blocks into reads as large as contiguity allows. Pure functions.
//
// A read can span blocks that are neighbours in the sequence and in both pools; layers are never
// joined, because between two layers of a run lie other blocks.
#pragma once

#include "fabric/published_blocks.hpp"

#include <span>
#include <vector>

namespace penstock::fabric {

/// Blocks [first, first + count) of the sequence, one layer: one read.
struct read_unit {
  uint32_t layer = 0;
  uint32_t first = 0; ///< Position in the hand-over.
  uint32_t count = 0; ///< > 0.
  bool operator==(const read_unit&) const = default;
};

/// One layer of one block.
struct piece_at {
  uint32_t layer = 0;
  uint32_t position = 0;
  auto operator<=>(const piece_at&) const = default;
};

/// Covers each piece once. Earlier pieces of the list come first.
/// @param pieces Sorted; their blocks are known to `source`.
/// @param destination_blocks By position.
/// @param unit_bytes_max A unit is at most this long, or one piece if that is longer.
[[nodiscard]] std::vector<read_unit> plan_reads(const transfer_geometry& geometry,
                                                const published_blocks& source,
                                                std::span<const uint32_t> destination_blocks,
                                                std::span<const piece_at> pieces,
                                                uint64_t unit_bytes_max);

/// Generations of source blocks [first_block, first_block + blocks): one read.
struct table_range {
  uint32_t first_block = 0;
  uint32_t blocks = 0;
  bool operator==(const table_range&) const = default;
};

/// Covers each block in as few ranges as gaps allow: reading a gap is cheaper than another read.
/// @param source_blocks Sorted.
/// @param entries_max Entries a range holds at most, > 0.
[[nodiscard]] std::vector<table_range> plan_table_reads(std::span<const uint32_t> source_blocks,
                                                        uint32_t entries_max);

} // namespace penstock::fabric
