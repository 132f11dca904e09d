#include "schema/bell.hpp"

#include "base/check.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace penstock::schema {

bell::bell() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  PS_CHECK(fd_ >= 0);
}

bell::~bell() {
  ::close(fd_);
}

void bell::ring() noexcept {
  int saved = errno;
  uint64_t one = 1;
  // Fails only when the counter is full, and then the bell rings already.
  [[maybe_unused]] auto written = ::write(fd_, &one, sizeof one);
  errno = saved;
}

void bell::hush() noexcept {
  uint64_t count = 0;
  [[maybe_unused]] auto got = ::read(fd_, &count, sizeof count);
}

} // namespace penstock::schema
