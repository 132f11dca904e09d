#include "fabric/signals.hpp"

#include <csignal>
#include <cstdlib>
#include <initializer_list>

namespace penstock::fabric {

void restore_default_signals() {
  ::setenv("IPATH_NO_BACKTRACE", "1", 1); // Children that load the library find it set.
  for (int number : {SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM})
    std::signal(number, SIG_DFL);
}

} // namespace penstock::fabric
