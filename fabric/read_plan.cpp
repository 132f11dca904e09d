#include "fabric/read_plan.hpp"

#include <algorithm>

namespace penstock::fabric {

std::vector<read_unit> plan_reads(const transfer_geometry& geometry, const published_blocks& source,
                                  std::span<const uint32_t> destination_blocks,
                                  std::span<const piece_at> pieces, uint64_t unit_bytes_max) {
  auto count_max = std::max<uint64_t>(1, unit_bytes_max / geometry.piece_bytes);
  std::vector<read_unit> units;
  for (const auto& piece : pieces) {
    if (!units.empty()) {
      auto& open = units.back();
      uint32_t next = open.first + open.count;
      if (open.layer == piece.layer && next == piece.position && open.count < count_max
          && source.source_block(next) == source.source_block(next - 1) + 1
          && destination_blocks[next] == destination_blocks[next - 1] + 1) {
        ++open.count;
        continue;
      }
    }
    units.push_back({piece.layer, piece.position, 1});
  }
  return units;
}

std::vector<table_range> plan_table_reads(std::span<const uint32_t> source_blocks,
                                          uint32_t entries_max) {
  std::vector<table_range> ranges;
  for (uint32_t block : source_blocks) {
    if (!ranges.empty() && block - ranges.back().first_block < entries_max)
      ranges.back().blocks = block - ranges.back().first_block + 1;
    else
      ranges.push_back({block, 1});
  }
  return ranges;
}

} // namespace penstock::fabric
