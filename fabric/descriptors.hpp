// What is inside a descriptor, per kind of transport, to and from bytes. Opens nothing.
//
// First byte version, second kind, then the kind's fields; no byte may be left over. Parsers take
// foreign bytes: they give errc::malformed (wrong form), errc::incompatible (another version) or
// errc::invalid_argument (another kind of transport), never crash, and allocate no more than the
// input's size.
#pragma once

#include "base/digest.hpp"
#include "fabric/transport.hpp"

#include <string>

namespace penstock::fabric {

inline constexpr uint8_t descriptor_version = 1;

/// Second byte of a descriptor. Numbers are wire format.
enum class descriptor_kind : uint8_t { mapped = 1, libfabric = 2, local = 3 };

/// A source behind a unix socket with an abstract name.
struct mapped_descriptor {
  digest128 key;    ///< The secret a reader must show; drawn anew at each start.
  std::string name; ///< Without the leading zero byte; at most 100 bytes, not empty.
  uint64_t size_bytes = 0;
  bool operator==(const mapped_descriptor&) const = default;
};

/// A source behind a libfabric endpoint.
struct libfabric_descriptor {
  std::string provider;           ///< As fi_getinfo names it, e.g. "tcp;ofi_rxm".
  std::vector<std::byte> address; ///< From fi_getname; at most 256 bytes, not empty.
  uint64_t key = 0;               ///< The registration's remote key.
  uint64_t base = 0;              ///< Where the memory starts, for fi_read: an address or 0.
  uint64_t size_bytes = 0;
  bool operator==(const libfabric_descriptor&) const = default;
};

/// A source inside a local_fabric.
struct local_descriptor {
  uint64_t source = 0;
  uint64_t size_bytes = 0;
  bool operator==(const local_descriptor&) const = default;
};

[[nodiscard]] descriptor encode(const mapped_descriptor& from);
[[nodiscard]] descriptor encode(const libfabric_descriptor& from);
[[nodiscard]] descriptor encode(const local_descriptor& from);

[[nodiscard]] result<mapped_descriptor> parse_mapped(std::span<const std::byte> from);
[[nodiscard]] result<libfabric_descriptor> parse_libfabric(std::span<const std::byte> from);
[[nodiscard]] result<local_descriptor> parse_local(std::span<const std::byte> from);

/// @returns True if `[offset, offset + count)` lies in `[0, size)`. Never overflows.
[[nodiscard]] constexpr bool in_bounds(uint64_t offset, uint64_t count, uint64_t size) noexcept {
  return offset <= size && count <= size - offset;
}

} // namespace penstock::fabric
