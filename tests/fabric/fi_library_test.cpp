#include "fabric/fi_library.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>

namespace penstock::fabric {
namespace {

void mine(int) {}

const bool loaded_before_main = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;

TEST(fi_library, loads_twice_and_leaves_the_handlers_of_this_process) {
  auto before = std::signal(SIGTERM, mine);
  auto first = fi_library::load();
  auto second = fi_library::load();
  EXPECT_EQ(std::signal(SIGTERM, before), mine);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->getinfo, second->getinfo);
  fi_info* info = first->dupinfo(nullptr);
  ASSERT_NE(info, nullptr);
  first->freeinfo(info);
}

TEST(fi_library, says_what_to_do_when_it_is_missing) {
  auto missing = fi_library::load("libfabric-not-there.so.1");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.err().code, errc::unsupported);
  EXPECT_NE(missing.err().detail.find("install libfabric1"), std::string::npos);
}

TEST(fi_library, refuses_a_library_that_is_another) {
  auto other = fi_library::load("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.err().detail.find("lacks an entry point"), std::string::npos);
}

TEST(fi_library, is_not_linked_so_that_only_a_transport_pays_for_it) {
  EXPECT_FALSE(loaded_before_main);
}

} // namespace
} // namespace penstock::fabric
