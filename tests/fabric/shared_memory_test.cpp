#include "fabric/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

namespace penstock::fabric {
namespace {

TEST(shared_memory, is_zero_and_writable_by_its_owner) {
  for (auto make : {shared_memory::create_sealed, shared_memory::create_plain}) {
    auto memory = make(10000);
    ASSERT_TRUE(memory) << memory.err().text();
    ASSERT_EQ(memory->bytes().size(), 10000U);
    for (auto byte : memory->bytes())
      ASSERT_EQ(byte, std::byte{0});
    memory->bytes()[9999] = std::byte{5};
  }
}

TEST(shared_memory, can_be_mapped_by_others_for_reading_only) {
  auto memory = shared_memory::create_sealed(8192);
  ASSERT_TRUE(memory);
  EXPECT_EQ(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd(), 0), MAP_FAILED);
  EXPECT_EQ(errno, EPERM);
  char byte = 1;
  EXPECT_EQ(pwrite(memory->fd(), &byte, 1, 0), -1);
  void* view = mmap(nullptr, 8192, PROT_READ, MAP_SHARED, memory->fd(), 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_NE(mprotect(view, 8192, PROT_READ | PROT_WRITE), 0);
  memory->bytes()[100] = std::byte{7}; // The owner still writes, and the view shows it.
  EXPECT_EQ(static_cast<const std::byte*>(view)[100], std::byte{7});
  munmap(view, 8192);
}

TEST(shared_memory, cannot_shrink_or_grow_or_lose_its_seals) {
  auto memory = shared_memory::create_sealed(8192);
  ASSERT_TRUE(memory);
  EXPECT_NE(ftruncate(memory->fd(), 4096), 0);
  EXPECT_NE(ftruncate(memory->fd(), 16384), 0);
  EXPECT_NE(fallocate(memory->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(fcntl(memory->fd(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST(shared_memory, says_how_much_was_wanted_when_there_is_too_little) {
  for (auto make : {shared_memory::create_sealed, shared_memory::create_plain}) {
    auto memory = make(uint64_t{1} << 50U);
    ASSERT_FALSE(memory);
    EXPECT_EQ(memory.err().code, errc::io_failed);
    EXPECT_NE(memory.err().detail.find("1073741824 MiB"), std::string::npos);
    EXPECT_EQ(make(0).err().code, errc::invalid_argument);
  }
}

} // namespace
} // namespace penstock::fabric
