#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <ctime>

namespace penstock::log {

namespace {

std::atomic<level> least_written{level::info};

std::string& prefix() {
  static std::string text;
  return text;
}

char letter(level l) {
  switch (l) {
  case level::error:
    return 'E';
  case level::warn:
    return 'W';
  case level::info:
    return 'I';
  case level::debug:
    return 'D';
  }
  return '?';
}

void append_value(std::string& line, const std::string& value) {
  bool quoted = value.empty() || value.find_first_of(" \"\n\r\t=") != std::string::npos;
  if (!quoted) {
    line += value;
    return;
  }
  line += '"';
  for (char c : value) {
    if (c == '"' || c == '\\')
      line += '\\';
    line += (static_cast<unsigned char>(c) < 0x20) ? ' ' : c;
  }
  line += '"';
}

std::string timestamp() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  gmtime_r(&now.tv_sec, &parts);
  char text[40];
  auto n = std::strftime(text, sizeof text, "%H:%M:%S", &parts);
  std::snprintf(text + n, sizeof text - n, ".%03ld", now.tv_nsec / 1'000'000);
  return text;
}

} // namespace

void set_level(level least) noexcept {
  least_written = least;
}

void set_prefix(std::string_view text) {
  prefix() = text;
}

void write(level l, std::string_view event, std::initializer_list<field> fields) {
  if (l > least_written.load(std::memory_order_relaxed))
    return;
  std::string line{letter(l)};
  line += ' ' + timestamp() + ' ';
  if (!prefix().empty())
    line += prefix() + ' ';
  line += event;
  for (const auto& f : fields) {
    line += ' ';
    line += f.key;
    line += '=';
    append_value(line, f.value);
  }
  line += '\n';
  // A full disk or closed stderr must not stop serving: the result is deliberately ignored.
  [[maybe_unused]] auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

} // namespace penstock::log
