// All the ways to one source's memory, and the choice among them. Opens nothing.
//
// A node that serves its pool over several transports sends one descriptor_set; each reader picks
// for itself: mapped if they share a host, else libfabric, unless its config names a transport.
#pragma once

#include "base/digest.hpp"
#include "fabric/transport.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace penstock::fabric {

struct descriptor_set {
  struct entry {
    std::string transport; ///< transport::name() of the source's side, at most 64 bytes.
    descriptor from;
    bool operator==(const entry&) const = default;
  };

  static constexpr size_t entries_max = 8;

  digest128 host;             ///< host_identity() of the source. All zero equals no host.
  std::vector<entry> entries; ///< In the source's order of preference; at most entries_max.
  bool operator==(const descriptor_set&) const = default;
};

/// @pre Sizes within the limits named above. @returns At most 40 KiB.
[[nodiscard]] std::vector<std::byte> encode(const descriptor_set& set);

/// @param from Foreign bytes. @returns errc::malformed or, for another version, errc::incompatible.
[[nodiscard]] result<descriptor_set> parse_descriptor_set(std::span<const std::byte> from);

/// Picks the way to a source.
/// @param here host_identity() of the reader.
/// @param wanted "auto", or the name of a transport, which then must be offered.
/// @returns The entry's index, or errc::unsupported, saying what is offered.
[[nodiscard]] result<size_t> choose(const descriptor_set& set, const digest128& here,
                                    std::string_view wanted);

} // namespace penstock::fabric
