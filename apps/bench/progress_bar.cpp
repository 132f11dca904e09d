#include "apps/bench/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

namespace penstock::apps::bench {

namespace {

constexpr size_t cells = 24;
constexpr size_t columns_max = 100;

} // namespace

std::string bar_line(double share, const std::string& text) {
  auto full = static_cast<size_t>(std::clamp(share, 0.0, 1.0) * cells);
  std::string out{"["};
  out.append(full, '#').append(cells - full, '.').append("] ").append(text);
  return out.substr(0, columns_max);
}

progress_bar::progress_bar() : shown_(isatty(STDERR_FILENO) == 1) {}

progress_bar::~progress_bar() {
  clear();
}

void progress_bar::show(double share, const std::string& text) {
  if (!shown_)
    return;
  std::cerr << "\r\x1b[K" << bar_line(share, text) << std::flush;
  drawn_ = true;
}

void progress_bar::clear() {
  if (drawn_)
    std::cerr << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

} // namespace penstock::apps::bench
