// Published batches are foreign words: whatever they say, a transfer reads inside both pools only,
// lands only what it was told to, and ends when its reads do.
//
// Input: messages of {first u8, blocks u8, flags u8, then per block source u8 and generation u8};
// digests are those of the source's bytes unless a flag spoils one.
#include "base/digest.hpp"
#include "base/rng.hpp"
#include "fabric/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstring>

using namespace penstock;
using namespace penstock::fabric;

namespace {

constexpr transfer_geometry geometry{2, 16, 30, 12};

struct input {
  std::span<const uint8_t> bytes;
  uint8_t next() {
    if (bytes.empty())
      return 0;
    uint8_t first = bytes.front();
    bytes = bytes.subspan(1);
    return first;
  }
};

published draw_message(input& in, std::span<const std::byte> source) {
  published out;
  out.first_index = in.next();
  size_t blocks = in.next() % 16;
  uint8_t flags = in.next();
  out.last = (flags & 1U) != 0;
  for (size_t i = 0; i < blocks; ++i) {
    out.source_blocks.push_back(in.next());
    out.generations.push_back(in.next() % 4);
  }
  for (uint32_t layer = 0; layer < geometry.layers; ++layer)
    for (uint32_t block : out.source_blocks) {
      bool inside = block < geometry.source_blocks;
      auto at = geometry.source_offset(layer, inside ? block : 0);
      out.digests.push_back(digest64_of(source.subspan(at, geometry.piece_bytes)));
    }
  if ((flags & 2U) != 0 && !out.digests.empty())
    out.digests.back() ^= 1;
  if ((flags & 4U) != 0)
    out.generations.resize(flags >> 3U);
  return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  input in{{data, size}};
  std::vector<std::byte> source(geometry.source_bytes());
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = i < 8 * geometry.source_blocks ? std::byte{0} : static_cast<std::byte>(mix64(i));
  std::vector<std::byte> pool(geometry.destination_bytes());
  alignas(8) std::array<std::byte, 4 * scratch_slot_bytes> scratch{};
  transfer_limits limits;
  limits.reads_in_flight_max = 4;
  uint32_t count = in.next() % 11;
  std::vector<uint32_t> blocks;
  for (uint32_t i = 0; i < count; ++i)
    blocks.push_back(count - i);
  transfer moving{1, geometry, limits, {pool, scratch}, in.next(), blocks};
  for (int messages = 0; messages < 64 && !in.bytes.empty(); ++messages) {
    [[maybe_unused]] auto taken = moving.add(draw_message(in, source));
    for (const auto& read : moving.next_reads(in.next())) {
      PS_CHECK(read.offset + read.into.size() <= source.size());
      std::memcpy(read.into.data(), &source[read.offset], read.into.size());
      PS_CHECK(moving.completed(read.cookie, in.next() == 9 ? errc::transfer_failed : errc::ok));
    }
  }
  int rounds = 0;
  for (auto reads = moving.next_reads(8); !reads.empty(); reads = moving.next_reads(8)) {
    PS_CHECK(++rounds < 10000);
    for (const auto& read : reads) {
      std::memcpy(read.into.data(), &source[read.offset], read.into.size());
      PS_CHECK(moving.completed(read.cookie, errc::ok));
    }
  }
  PS_CHECK(moving.settle().state == settlement::kind::quiesced);
  return 0;
}
