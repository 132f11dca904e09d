// Builds a transport by the name the config and a descriptor_set use.
#pragma once

#include "fabric/shared_memory.hpp"
#include "fabric/transport.hpp"

#include <string>

namespace penstock::fabric {

struct transport_options {
  const shared_memory* memory = nullptr;  ///< What "mapped" serves; null in a pure reader.
  std::string bind_address = "127.0.0.1"; ///< For libfabric: this host's, numeric.
  size_t reads_in_flight_max = 32;        ///< Per region (mapped: over all), > 0.
  int connect_timeout_ms = 2000;          ///< > 0.
};

/// @param kind "mapped", or a libfabric provider's name, e.g. "tcp;ofi_rxm". Not "auto": that is a
///   choice among what a source offers, see descriptor_set.
/// @returns errc::unsupported if there is no such provider or it lacks what is needed.
[[nodiscard]] result<std::unique_ptr<transport>> make_transport(const std::string& kind,
                                                                const transport_options& options);

} // namespace penstock::fabric
