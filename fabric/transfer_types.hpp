// The words a transfer speaks with its owner. No behaviour.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::fabric {

struct transfer_limits {
  uint64_t unit_bytes_max = uint64_t{4} << 20U;       ///< One read, or one piece if that is longer.
  uint64_t bytes_in_flight_max = uint64_t{32} << 20U; ///< One read is always allowed.
  uint32_t reads_in_flight_max = 8;                   ///< In [1, reads_in_flight_limit].
  uint32_t retries_max = 3; ///< Tries after the first, of each read and of each batch.
};

inline constexpr uint32_t reads_in_flight_limit = 256; ///< A cookie has eight bits for it.

/// Where generations are read to, for one read. See transfer_destination::scratch.
inline constexpr size_t scratch_slot_bytes = 4096;

/// Where bytes land. Both lie in memory registered with the transport.
struct transfer_destination {
  std::span<std::byte> pool; ///< transfer_geometry::destination_bytes() long.
  /// The transfer's own, 8-byte aligned: scratch_slot_bytes for each read in flight.
  std::span<std::byte> scratch;
};

/// One read to post: remote_region::read(offset, into, cookie).
struct read_request {
  uint64_t cookie = 0;
  uint64_t offset = 0;
  std::span<std::byte> into;
};

enum class transfer_state : uint8_t {
  reading,   ///< Wants messages or reads.
  landed,    ///< Every block is here and right. Final.
  failed,    ///< It will not be; failure() says why. Final.
  cancelled, ///< Its owner gave up. Final.
};

/// What is still in flight, and so may not be reused.
struct settlement {
  enum class kind : uint8_t {
    quiesced,  ///< Nothing: all blocks may be reused.
    pending,   ///< Ask again after the next completion.
    abandoned, ///< Nobody waits; only closing the region ends it.
  };
  kind state = kind::quiesced;
  std::vector<uint32_t> blocks; ///< Destination blocks with a read in flight, ascending.
  bool scratch = false;         ///< A read into the scratch is in flight.
};

struct transfer_stats {
  uint64_t bytes = 0;   ///< Of pieces that arrived, those read again included.
  uint64_t reads = 0;   ///< Handed out by next_reads() and not withdrawn.
  uint64_t retries = 0; ///< Reads tried again after an error, pieces after a wrong digest.
  uint64_t wrong_digests = 0;
};

} // namespace penstock::fabric
