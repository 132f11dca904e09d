// Both ends of one hand-over in one process, over the in-process transport. For tests.
#pragma once

#include "base/digest.hpp"
#include "fabric/local_transport.hpp"
#include "fabric/transfer.hpp"

#include <algorithm>
#include <cstring>

namespace penstock::fabric {

/// A source's served memory: table and pool, filled with seeded bytes.
struct fake_source {
  transfer_geometry geometry;
  std::vector<uint64_t> words; // Aligned for the table.

  fake_source(const transfer_geometry& g, uint64_t seed)
    : geometry(g), words((g.source_bytes() + 7) / 8) {
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = random_bits(seed, i);
    for (uint32_t block = 0; block < g.source_blocks; ++block)
      words[block] = block % 5;
  }
  [[nodiscard]] std::span<std::byte> bytes() {
    return std::as_writable_bytes(std::span{words}).first(geometry.source_bytes());
  }
  [[nodiscard]] std::span<std::byte> piece(uint32_t layer, uint32_t block) {
    return bytes().subspan(geometry.source_offset(layer, block), geometry.piece_bytes);
  }
  [[nodiscard]] uint64_t& generation(uint32_t block) { return words[block]; }

  /// Gives the block back and lets someone else write it.
  void reuse(uint32_t block, uint64_t seed) {
    ++generation(block);
    for (uint32_t layer = 0; layer < geometry.layers; ++layer)
      for (auto& byte : piece(layer, block))
        byte ^= static_cast<std::byte>(1 + mix64(seed ^ layer) % 255);
  }
  [[nodiscard]] published publish(uint32_t first_index, std::vector<uint32_t> blocks, bool last) {
    published out;
    out.first_index = first_index;
    out.last = last;
    for (uint32_t block : blocks)
      out.generations.push_back(generation(block));
    for (uint32_t layer = 0; layer < geometry.layers; ++layer)
      for (uint32_t block : blocks)
        out.digests.push_back(digest64_of(piece(layer, block)));
    out.source_blocks = std::move(blocks);
    return out;
  }
};

/// A destination, its transfer, and the posting between them.
struct fake_destination {
  transfer_geometry geometry;
  std::vector<std::byte> pool;
  std::vector<uint64_t> scratch;
  std::vector<uint32_t> blocks;
  transfer moving;
  std::unique_ptr<transport> reader;
  std::unique_ptr<remote_region> region;
  descriptor from;
  uint64_t completed = 0;

  fake_destination(local_fabric& on, descriptor source, const transfer_geometry& g,
                   std::vector<uint32_t> into, uint32_t first_index = 0,
                   transfer_limits limits = {})
    : geometry(g), pool(g.destination_bytes(), std::byte{0xEE}),
      scratch(limits.reads_in_flight_max * scratch_slot_bytes / 8), blocks(into),
      moving(9, g, limits, {pool, std::as_writable_bytes(std::span{scratch})}, first_index,
             std::move(into)),
      reader(std::make_unique<local_transport>(on)), from(std::move(source)) {
    PS_CHECK(reader->register_destination(pool));
    PS_CHECK(reader->register_destination(std::as_writable_bytes(std::span{scratch})));
    open();
  }
  void open() {
    region.reset();
    auto opened = reader->open(from, [this](std::span<const read_done> done) {
      for (const auto& each : done)
        completed += moving.completed(each.cookie, each.code) ? 1 : 0;
    });
    PS_CHECK(opened);
    region = std::move(*opened);
  }
  /// Posts what the transfer asks for. @returns Reads posted.
  size_t post(size_t reads_max = 1000) {
    auto reads = moving.next_reads(reads_max);
    for (const auto& read : reads)
      if (!region->read(read.offset, read.into, read.cookie))
        moving.withdraw(read.cookie);
    return reads.size();
  }
  [[nodiscard]] std::span<std::byte> piece(uint32_t layer, uint32_t block) {
    return std::span{pool}.subspan(geometry.destination_offset(layer, block), geometry.piece_bytes);
  }
  /// @returns True if the blocks hold what `source_blocks` of `source` do.
  [[nodiscard]] bool equals(fake_source& source, const std::vector<uint32_t>& source_blocks) {
    for (uint32_t layer = 0; layer < geometry.layers; ++layer)
      for (size_t i = 0; i < blocks.size(); ++i)
        if (!std::ranges::equal(piece(layer, blocks[i]), source.piece(layer, source_blocks[i])))
          return false;
    return true;
  }
  /// @returns Bytes outside the transfer's blocks that were touched.
  [[nodiscard]] size_t strays() {
    size_t count = 0;
    for (uint32_t layer = 0; layer < geometry.layers; ++layer)
      for (uint32_t block = 0; block < geometry.destination_blocks; ++block)
        if (std::ranges::find(blocks, block) == blocks.end())
          for (auto byte : piece(layer, block))
            count += byte != std::byte{0xEE} ? 1 : 0;
    return count;
  }
};

} // namespace penstock::fabric
