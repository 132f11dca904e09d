#include "fabric/signals.hpp"

namespace penstock::fabric {

namespace {

constexpr std::array<int, 6> taken{SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM};

} // namespace

kept_signals::kept_signals() {
  for (size_t i = 0; i < taken.size(); ++i)
    ::sigaction(taken[i], nullptr, &before_[i]);
}

kept_signals::~kept_signals() {
  for (size_t i = 0; i < taken.size(); ++i)
    ::sigaction(taken[i], &before_[i], nullptr);
}

} // namespace penstock::fabric
