#include "apps/ready_signal.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace penstock::apps {

namespace {

std::optional<uint32_t> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr)
    return std::nullopt;
  uint32_t value = 0;
  const char* end = text + std::strlen(text);
  auto [stop, failed] = std::from_chars(text, end, value);
  if (failed != std::errc{} || stop != end || stop == text)
    return std::nullopt;
  return value;
}

} // namespace

void signal_ready() {
  auto fd = number_in(ready_fd_variable);
  unsetenv(ready_fd_variable);
  if (!fd || *fd <= STDERR_FILENO || *fd > 1'000'000)
    return;
  // A supervisor that is gone no longer wants to know: the result is deliberately ignored.
  [[maybe_unused]] auto written = write(static_cast<int>(*fd), "r", 1);
  close(static_cast<int>(*fd));
}

} // namespace penstock::apps
