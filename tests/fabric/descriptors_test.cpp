#include "fabric/descriptors.hpp"

#include <gtest/gtest.h>

namespace penstock::fabric {
namespace {

const mapped_descriptor a_mapped{{1, 2}, "penstock-abc", 4096};
const libfabric_descriptor a_libfabric{
  "tcp;ofi_rxm", {std::byte{2}, std::byte{0}, std::byte{9}}, 77, 0, 1U << 20U};
const local_descriptor a_local{3, 64};

TEST(descriptors, come_back_as_they_went) {
  EXPECT_EQ(*parse_mapped(encode(a_mapped)), a_mapped);
  EXPECT_EQ(*parse_libfabric(encode(a_libfabric)), a_libfabric);
  EXPECT_EQ(*parse_local(encode(a_local)), a_local);
}

TEST(descriptors, of_another_kind_or_version_are_refused_with_the_reason) {
  EXPECT_EQ(parse_local(encode(a_mapped)).err().code, errc::invalid_argument);
  EXPECT_EQ(parse_mapped(encode(a_libfabric)).err().code, errc::invalid_argument);
  auto newer = encode(a_libfabric);
  newer[0] = std::byte{9};
  EXPECT_EQ(parse_libfabric(newer).err().code, errc::incompatible);
}

TEST(descriptors, cut_short_or_with_bytes_left_over_are_malformed) {
  for (const auto& whole : {encode(a_mapped), encode(a_libfabric), encode(a_local)}) {
    auto parses = [](std::span<const std::byte> bytes) {
      return parse_mapped(bytes) || parse_libfabric(bytes) || parse_local(bytes);
    };
    EXPECT_TRUE(parses(whole));
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(parses(std::span{whole}.first(size))) << size;
    auto longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(parses(longer));
  }
}

TEST(descriptors, with_empty_or_oversized_fields_are_malformed) {
  auto nothing = a_mapped;
  nothing.size_bytes = 0;
  EXPECT_EQ(parse_mapped(encode(nothing)).err().code, errc::malformed);
  auto wraps = a_libfabric;
  wraps.base = UINT64_MAX - 5;
  EXPECT_EQ(parse_libfabric(encode(wraps)).err().code, errc::malformed);
  EXPECT_EQ(parse_mapped(descriptor(descriptor_bytes_max + 1, std::byte{1})).err().code,
            errc::malformed);
}

TEST(descriptors, bounds_do_not_overflow) {
  EXPECT_TRUE(in_bounds(0, 10, 10));
  EXPECT_TRUE(in_bounds(10, 0, 10));
  EXPECT_FALSE(in_bounds(1, 10, 10));
  EXPECT_FALSE(in_bounds(UINT64_MAX, 2, 10));
  EXPECT_FALSE(in_bounds(2, UINT64_MAX, 10));
}

} // namespace
} // namespace penstock::fabric
