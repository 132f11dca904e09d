#include "fabric/descriptor_set.hpp"
#include "fabric/host_identity.hpp"

#include <gtest/gtest.h>

namespace penstock::fabric {
namespace {

const digest128 here{1, 2};
const digest128 elsewhere{1, 3};

descriptor_set both() {
  return {here, {{"tcp;ofi_rxm", {std::byte{1}}}, {"mapped", {std::byte{2}, std::byte{3}}}}};
}

TEST(descriptor_set, comes_back_as_it_went) {
  EXPECT_EQ(*parse_descriptor_set(encode(both())), both());
  EXPECT_EQ(*parse_descriptor_set(encode(descriptor_set{})), descriptor_set{});
}

TEST(descriptor_set, is_malformed_if_cut_short_or_too_long) {
  auto whole = encode(both());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(parse_descriptor_set(std::span{whole}.first(size))) << size;
  whole.push_back(std::byte{0});
  EXPECT_EQ(parse_descriptor_set(whole).err().code, errc::malformed);
  whole[0] = std::byte{7};
  EXPECT_EQ(parse_descriptor_set(whole).err().code, errc::incompatible);
}

TEST(descriptor_set, offers_mapped_memory_on_one_host_and_libfabric_between_hosts) {
  EXPECT_EQ(*choose(both(), here, "auto"), 1U);
  EXPECT_EQ(*choose(both(), elsewhere, "auto"), 0U);
}

TEST(descriptor_set, takes_a_host_that_does_not_know_itself_for_another) {
  auto unknown = both();
  unknown.host = {};
  EXPECT_EQ(*choose(unknown, digest128{}, "auto"), 0U);
}

TEST(descriptor_set, lets_the_config_name_the_transport) {
  EXPECT_EQ(*choose(both(), here, "tcp;ofi_rxm"), 0U);
  EXPECT_EQ(*choose(both(), elsewhere, "mapped"), 1U);
}

TEST(descriptor_set, says_what_is_offered_when_nothing_fits) {
  auto none = choose(both(), here, "verbs;ofi_rxm");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.err().code, errc::unsupported);
  EXPECT_NE(none.err().detail.find("\"tcp;ofi_rxm\", \"mapped\""), std::string::npos);
  descriptor_set only_mapped{here, {{"mapped", {std::byte{2}}}}};
  EXPECT_EQ(choose(only_mapped, elsewhere, "auto").err().code, errc::unsupported);
  EXPECT_EQ(choose({}, here, "auto").err().code, errc::unsupported);
}

TEST(host_identity, is_known_here_and_stays_the_same) {
  EXPECT_NE(host_identity(), digest128{});
  EXPECT_EQ(host_identity(), host_identity());
  EXPECT_NE(random_key(), random_key());
}

} // namespace
} // namespace penstock::fabric
