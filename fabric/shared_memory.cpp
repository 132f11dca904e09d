#include "fabric/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

namespace penstock::fabric {

namespace {

std::string mib(uint64_t bytes) {
  return std::to_string((bytes + (1U << 20U) - 1) >> 20U) + " MiB";
}

error failed(const char* call, uint64_t size_bytes) {
  return {errc::io_failed, std::string{call} + " for " + mib(size_bytes) + " of memory: "
                             + std::strerror(errno) + "; make the pool smaller or free memory"};
}

/// @returns Bytes the kernel thinks can still be had without swapping; 0 if it does not say.
uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("MemAvailable:"))
      return std::strtoull(line.c_str() + std::strlen("MemAvailable:"), nullptr, 10) << 10U;
  return 0;
}

/// Refuses before touching a page: running out while touching them would kill some process.
result<void> check_available(uint64_t size_bytes) {
  if (size_bytes == 0)
    return error{errc::invalid_argument, "a pool of 0 bytes"};
  auto available = available_bytes();
  if (available != 0 && size_bytes > available)
    return error{errc::io_failed, "wanted " + mib(size_bytes) + " of memory, " + mib(available)
                                    + " are available; make the pool smaller"};
  return {};
}

} // namespace

shared_memory::shared_memory(unique_fd fd, std::span<std::byte> bytes)
  : fd_(std::move(fd)), bytes_(bytes) {}

shared_memory::shared_memory(shared_memory&& other) noexcept
  : fd_(std::move(other.fd_)), bytes_(std::exchange(other.bytes_, {})) {}

shared_memory::~shared_memory() {
  if (!bytes_.empty())
    ::munmap(bytes_.data(), bytes_.size());
}

result<shared_memory> shared_memory::create_sealed(uint64_t size_bytes) {
  if (auto room = check_available(size_bytes); !room)
    return room.err();
  unique_fd fd{::memfd_create("penstock-pool", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!fd)
    return failed("memfd_create", size_bytes);
  auto size = static_cast<off_t>(size_bytes);
  if (::ftruncate(fd.get(), size) != 0)
    return failed("ftruncate", size_bytes);
  if (::fallocate(fd.get(), 0, 0, size) != 0)
    return failed("fallocate", size_bytes);
  void* at = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (at == MAP_FAILED)
    return failed("mmap", size_bytes);
  shared_memory memory{std::move(fd), {static_cast<std::byte*>(at), size_bytes}};
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (::fcntl(memory.fd(), F_ADD_SEALS, seals) != 0)
    return failed("sealing (Linux 5.1 or newer is needed)", size_bytes);
  return memory;
}

result<shared_memory> shared_memory::create_plain(uint64_t size_bytes) {
  if (auto room = check_available(size_bytes); !room)
    return room.err();
  void* at
    = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return failed("mmap", size_bytes);
  return shared_memory{unique_fd{}, {static_cast<std::byte*>(at), size_bytes}};
}

} // namespace penstock::fabric
