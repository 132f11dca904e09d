#include "fabric/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace penstock::fabric {
namespace {

void mine(int) {}
void theirs(int) {}

TEST(kept_signals, are_as_before_after_somebody_took_them) {
  auto before = std::signal(SIGTERM, mine);
  {
    kept_signals kept;
    std::signal(SIGTERM, theirs);
  }
  EXPECT_EQ(std::signal(SIGTERM, before), mine);
}

} // namespace
} // namespace penstock::fabric
