// Keeps this process's signal handlers over the loading of a library that takes them.
//
// Debian's libfabric links libinfinipath, which takes SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV and
// SIGTERM when it is loaded: Ctrl-C would then print a backtrace instead of draining.
#pragma once

#include <signal.h>

#include <array>

namespace penstock::fabric {

/// While it lives, changes to those six are temporary.
class kept_signals {
public:
  kept_signals();
  ~kept_signals();
  kept_signals(const kept_signals&) = delete;
  kept_signals& operator=(const kept_signals&) = delete;

private:
  std::array<struct sigaction, 6> before_{};
};

} // namespace penstock::fabric
