// What a source has said so far about the blocks of one hand-over: where they are, which use of
// them, and what their bytes must digest to. Reads nothing.
//
// `add` takes foreign messages that may be late, repeated, out of order or lying: it keeps what is
// new, ignores what it knows, and refuses what contradicts it or leaves the geometry, all or
// nothing. Memory is fixed at construction: blocks x (16 + 8 x layers) bytes.
#pragma once

#include "base/result.hpp"
#include "fabric/generation_table.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::fabric {

/// Both pools of a hand-over. Each is [layer][block] of pieces; the source's lies behind its table.
struct transfer_geometry {
  uint32_t layers = 0;             ///< > 0.
  uint64_t piece_bytes = 0;        ///< Bytes of one (layer, block), > 0; the same on both sides.
  uint32_t source_blocks = 0;      ///< Blocks of the source's pool, > 0.
  uint32_t destination_blocks = 0; ///< Blocks of the destination's pool, > 0.

  /// Offset of a piece in the memory the source serves.
  [[nodiscard]] constexpr uint64_t source_offset(uint32_t layer, uint32_t block) const noexcept {
    return generation_table{source_blocks}.pool_offset()
           + (uint64_t{layer} * source_blocks + block) * piece_bytes;
  }
  /// Bytes the source must serve.
  [[nodiscard]] constexpr uint64_t source_bytes() const noexcept {
    return source_offset(layers, 0);
  }
  /// Offset of a piece in the destination's pool.
  [[nodiscard]] constexpr uint64_t destination_offset(uint32_t layer,
                                                      uint32_t block) const noexcept {
    return (uint64_t{layer} * destination_blocks + block) * piece_bytes;
  }
  [[nodiscard]] constexpr uint64_t destination_bytes() const noexcept {
    return destination_offset(layers, 0);
  }
};

/// Some finished blocks of a sequence: they are not written again until they are given back.
struct published {
  uint32_t first_index = 0;            ///< Ordinal, in the sequence, of the first block.
  std::vector<uint32_t> source_blocks; ///< In the order of the sequence.
  std::vector<uint64_t> generations;   ///< One per source block.
  std::vector<uint64_t> digests;       ///< XXH3-64 of each piece, [layer][block], layer-major.
  bool last = false;                   ///< Nothing after these; says how long the sequence is.
};

class published_blocks {
public:
  /// @param first_index Ordinal of the first block that is moved; those before are not needed.
  /// @param count Blocks that are moved; 0 is legal.
  published_blocks(const transfer_geometry& geometry, uint32_t first_index, uint32_t count);

  /// Takes a message.
  /// @returns Positions in [0, count) that were not known before, ascending; or errc::malformed,
  ///   saying which field, with nothing kept.
  [[nodiscard]] result<std::vector<uint32_t>> add(const published& message);

  /// @returns True once every block is known and the source has said that these are all.
  [[nodiscard]] bool complete() const noexcept { return last_ && known_count_ == count(); }

  [[nodiscard]] uint32_t count() const noexcept { return static_cast<uint32_t>(entries_.size()); }
  /// @pre `position` is known, in the next three.
  [[nodiscard]] uint32_t source_block(uint32_t position) const { return entries_[position].block; }
  [[nodiscard]] uint64_t generation(uint32_t position) const {
    return entries_[position].generation;
  }
  [[nodiscard]] uint64_t digest(uint32_t layer, uint32_t position) const {
    return digests_[size_t{position} * geometry_.layers + layer];
  }

private:
  struct entry {
    uint64_t generation = 0;
    uint32_t block = 0;
    bool known = false;
  };

  [[nodiscard]] result<void> check_shape(const published& message) const;
  [[nodiscard]] bool agrees(const published& message, size_t index, uint32_t position) const;

  transfer_geometry geometry_;
  uint32_t first_index_;
  std::vector<entry> entries_;
  std::vector<uint64_t> digests_; // [position][layer]
  uint32_t known_count_ = 0;
  bool last_ = false;
};

} // namespace penstock::fabric
