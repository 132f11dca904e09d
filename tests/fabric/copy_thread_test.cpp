#include "fabric/copy_thread.hpp"
#include "tests/fabric/completions.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::fabric {
namespace {

TEST(copy_thread, copies_what_it_takes_and_refuses_what_is_too_much) {
  copy_thread copies{4};
  completions done;
  copy_client client{done.handler(), [] { return errc::ok; }};
  std::vector<std::byte> from(1U << 20U, std::byte{3});
  std::vector<std::byte> into(from.size());
  uint64_t taken = 0;
  uint64_t refused = 0;
  for (; refused == 0 || taken < 20; ++taken)
    while (!copies.push({&client, from.data(), into, taken})) {
      ++refused;
      ASSERT_TRUE(done.wait_for(taken > 4 ? taken - 4 : 0));
    }
  ASSERT_TRUE(done.wait_for(taken));
  EXPECT_EQ(from, into);
  copies.forget(&client);
}

TEST(copy_thread, asks_about_the_source_and_ends_its_reads_with_the_answer) {
  copy_thread copies{4};
  completions done;
  copy_client client{done.handler(), [] { return errc::peer_lost; }};
  std::vector<std::byte> from(64, std::byte{3});
  std::vector<std::byte> into(64);
  ASSERT_TRUE(copies.push({&client, from.data(), into, 1}));
  ASSERT_TRUE(done.wait_for(1));
  EXPECT_EQ(done.code(1), errc::peer_lost);
  EXPECT_EQ(into[0], std::byte{0});
  copies.forget(&client);
}

TEST(copy_thread, writes_and_says_nothing_for_a_client_it_has_forgotten) {
  copy_thread copies{64};
  std::vector<std::byte> from(32U << 20U, std::byte{3});
  std::vector<std::byte> into(from.size());
  for (int round = 0; round < 20; ++round) {
    completions done;
    completions other_done;
    copy_client client{done.handler(), [] { return errc::ok; }};
    copy_client other{other_done.handler(), [] { return errc::ok; }};
    std::vector<std::byte> elsewhere(64);
    for (uint64_t cookie = 0; cookie < 3; ++cookie) {
      ASSERT_TRUE(copies.push({&client, from.data(), into, cookie}));
      ASSERT_TRUE(copies.push({&other, from.data(), elsewhere, cookie}));
    }
    copies.forget(&client);
    size_t told = done.count();
    std::ranges::fill(into, std::byte{9});
    ASSERT_TRUE(other_done.wait_for(3));
    EXPECT_EQ(done.count(), told);
    EXPECT_TRUE(std::ranges::all_of(into, [](std::byte b) { return b == std::byte{9}; }));
    copies.forget(&other);
  }
}

} // namespace
} // namespace penstock::fabric
