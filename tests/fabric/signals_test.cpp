#include "fabric/signals.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

namespace penstock::fabric {
namespace {

TEST(signals, are_left_to_the_process_again) {
  auto before = std::signal(SIGTERM, [](int) {});
  restore_default_signals();
  for (int number : {SIGINT, SIGILL, SIGABRT, SIGBUS, SIGSEGV, SIGTERM})
    EXPECT_EQ(std::signal(number, SIG_DFL), SIG_DFL) << number;
  EXPECT_STREQ(std::getenv("IPATH_NO_BACKTRACE"), "1");
  EXPECT_NE(before, SIG_ERR);
}

} // namespace
} // namespace penstock::fabric
