// Memory a source serves: a sealed memfd that readers can map read-only, or plain memory.
//
// Sealed means: this process keeps the one writable mapping, made before F_SEAL_FUTURE_WRITE; from
// then on the kernel refuses write(), a writable map and mprotect to anyone, us included. SHRINK
// and GROW are sealed too and every page is allocated up front, so a reader can never get SIGBUS:
// that needs a page past the end of the file, or one the kernel cannot find at the first touch.
// Nothing appears in the file system; the memory goes when the last mapping and descriptor do.
#pragma once

#include "base/result.hpp"
#include "fabric/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::fabric {

class shared_memory {
public:
  /// Allocates `size_bytes` zero bytes that mapped_transport can serve.
  /// @param size_bytes > 0; rounded up to a page in memory, not in bytes().
  /// @returns errc::invalid_argument for 0; errc::io_failed, saying how much was wanted and how
  ///   much there is, if memory is short or the kernel lacks memfd seals.
  [[nodiscard]] static result<shared_memory> create_sealed(uint64_t size_bytes);

  /// The same without a descriptor: private to this process. For pools that are only read through
  /// libfabric, and for destinations.
  [[nodiscard]] static result<shared_memory> create_plain(uint64_t size_bytes);

  shared_memory(shared_memory&& other) noexcept;
  shared_memory& operator=(shared_memory&&) = delete;
  ~shared_memory();

  /// Page-aligned; valid until destruction.
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// The memfd, or -1 if plain. Borrowed.
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

private:
  shared_memory(unique_fd fd, std::span<std::byte> bytes);

  unique_fd fd_;
  std::span<std::byte> bytes_; // Empty once moved from.
};

} // namespace penstock::fabric
