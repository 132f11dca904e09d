#include "model/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace penstock::model {

namespace {

error io_error(const std::filesystem::path& path, const char* what) {
  return {errc::io_failed, path.string() + ": cannot " + what + ": " + std::strerror(errno)};
}

} // namespace

result<mapped_file> mapped_file::open(const std::filesystem::path& path, size_t size_bytes_max) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return io_error(path, "open");
  struct stat status = {};
  if (::fstat(file, &status) != 0) {
    error failed = io_error(path, "stat");
    ::close(file);
    return failed;
  }
  const auto size = static_cast<size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || size > size_bytes_max) {
    ::close(file);
    if (!S_ISREG(status.st_mode))
      return error{errc::malformed, path.string() + ": not a regular file"};
    return error{errc::malformed, path.string() + ": " + std::to_string(size)
                                    + " bytes, allowed are at most "
                                    + std::to_string(size_bytes_max)};
  }
  if (size == 0) {
    ::close(file);
    return mapped_file{{}};
  }
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  error failed = start == MAP_FAILED ? io_error(path, "map") : error{};
  ::close(file);
  if (start == MAP_FAILED)
    return failed;
  return mapped_file{{static_cast<const std::byte*>(start), size}};
}

mapped_file::mapped_file(mapped_file&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

mapped_file::~mapped_file() {
  if (!bytes_.empty())
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

} // namespace penstock::model
