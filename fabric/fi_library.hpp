// libfabric itself, loaded when the first transport needs it and never before.
//
// Debian's libfabric pulls in libraries that take 200 ms to load, measuring the CPU's clock, and it
// takes signals; a command that moves no KV over it should not pay for that. Nearly all of the fi_*
// calls are inline and go through the objects' own tables; the few real symbols are here.
#pragma once

#include "base/result.hpp"

#include <rdma/fabric.h>

#include <string>

namespace penstock::fabric {

struct fi_library {
  int (*getinfo)(uint32_t version, const char* node, const char* service, uint64_t flags,
                 const fi_info* hints, fi_info** found)
    = nullptr;
  void (*freeinfo)(fi_info* info) = nullptr;
  fi_info* (*dupinfo)(const fi_info* info) = nullptr;
  int (*fabric)(fi_fabric_attr* attributes, fid_fabric** opened, void* context) = nullptr;

  /// Loads it, or finds it loaded. It stays until the process ends: it has threads of its own.
  /// Signal handlers are left as they were; call it before other threads change theirs.
  /// @param file As dlopen takes it; another name only in tests.
  /// @returns errc::unsupported if there is no such library or it lacks an entry point.
  [[nodiscard]] static result<fi_library> load(const std::string& file = "libfabric.so.1");
};

} // namespace penstock::fabric
