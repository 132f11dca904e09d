#include "cluster/machine.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>

namespace penstock::cluster {
namespace {

std::vector<uint32_t> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<uint32_t> out;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (uint32_t core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set))
        out.push_back(core);
  if (out.empty())
    out.push_back(0);
  return out;
}

uint64_t memory_bytes() {
  long pages = sysconf(_SC_PHYS_PAGES);
  long page_bytes = sysconf(_SC_PAGESIZE);
  uint64_t bytes = pages > 0 && page_bytes > 0
                     ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes)
                     : 0;
  for (const char* path : {"/sys/fs/cgroup/memory.max",                      // cgroup 2
                           "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) { // cgroup 1
    std::ifstream in(path);
    uint64_t limit = 0;
    if (in >> limit && limit > 0) // "max" is no number.
      bytes = bytes == 0 ? limit : std::min(bytes, limit);
  }
  return bytes;
}

std::vector<std::string> interface_addresses() {
  ifaddrs* first = nullptr;
  std::vector<std::string> out;
  if (getifaddrs(&first) != 0)
    return out;
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner{first, &freeifaddrs};
  for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr)
      continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* raw = nullptr;
    if (i->ifa_addr->sa_family == AF_INET)
      raw = &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
    else if (i->ifa_addr->sa_family == AF_INET6)
      raw = &reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr;
    if (raw != nullptr && inet_ntop(i->ifa_addr->sa_family, raw, text.data(), text.size()))
      out.emplace_back(text.data());
  }
  return out;
}

} // namespace

machine_facts this_machine() {
  machine_facts out;
  out.cores = usable_cores();
  out.memory_bytes = memory_bytes();
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0)
    out.host_name = name.data();
  out.addresses = interface_addresses();
  return out;
}

} // namespace penstock::cluster
