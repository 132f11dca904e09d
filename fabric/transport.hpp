// Moves bytes out of another process's memory. Knows no tensor and no request.
//
// The reader pulls: a *source* serves one region, read-only, for its process's life; a reader opens
// it by its descriptor (opaque bytes that travelled in a message) and posts reads. What is NOT
// promised: order among reads, that a failed read wrote nothing into its destination, that a
// completion ever comes from a stalled source (the owner keeps its own deadline and, to be rid of
// reads in flight, closes the reader's end). The destination must stay untouched until the read's
// completion, or until close() has returned.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace penstock::fabric {

using descriptor = std::vector<std::byte>; ///< Opaque; at most descriptor_bytes_max.
inline constexpr size_t descriptor_bytes_max = 4096;

struct read_done {
  uint64_t cookie = 0;  ///< As given to read().
  errc code = errc::ok; ///< ok: all bytes are in place. Else transfer_failed, peer_lost, ...
};

/// One open source. Thread-safe.
class remote_region {
public:
  /// Ends every read in flight: when the destructor returns, no byte lands any more, and reads not
  /// yet completed get no completion.
  virtual ~remote_region() = default;

  /// Posts one read of `into.size()` bytes at `offset` of the source.
  /// @returns errc::overloaded if the window is full (post again after a completion),
  ///   errc::invalid_argument if out of the source's bounds, errc::transfer_failed or
  ///   errc::peer_lost if broken: open it again.
  [[nodiscard]] virtual result<void> read(uint64_t offset, std::span<std::byte> into,
                                          uint64_t cookie)
    = 0;

  [[nodiscard]] virtual uint64_t size_bytes() const noexcept = 0;
};

class transport {
public:
  /// Called from a thread of the transport, one call at a time per region; must only hand on.
  using done_handler = std::function<void(std::span<const read_done>)>;

  virtual ~transport() = default;

  /// @returns "mapped", "tcp;ofi_rxm" (a libfabric provider's name) or "local".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Offers memory to readers, read-only, until the transport dies. Once per transport.
  /// @param memory Outlives the transport. mapped_transport wants memory from shared_memory.
  [[nodiscard]] virtual result<descriptor> serve(std::span<std::byte> memory) = 0;

  /// Opens a source. May block up to its connect timeout: not for a pooled actor's thread.
  [[nodiscard]] virtual result<std::unique_ptr<remote_region>> open(std::span<const std::byte> from,
                                                                    done_handler on_done)
    = 0;

  /// Destinations must lie in memory registered here. A no-op where the kind needs none.
  [[nodiscard]] virtual result<void> register_destination(std::span<std::byte> memory) = 0;
};

} // namespace penstock::fabric
