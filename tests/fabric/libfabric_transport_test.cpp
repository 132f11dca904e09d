#include "fabric/descriptors.hpp"
#include "fabric/libfabric_transport.hpp"
#include "tests/fabric/completions.hpp"
#include "tests/fabric/source_process.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::fabric {
namespace {

using testing::HasSubstr;

TEST(libfabric_transport, names_what_is_missing_and_what_would_do) {
  auto unknown = libfabric_transport::create({"carrier-pigeon", "127.0.0.1", 4, 1000});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.err().code, errc::unsupported);
  EXPECT_THAT(unknown.err().detail, HasSubstr("carrier-pigeon"));
  EXPECT_THAT(unknown.err().detail, HasSubstr("tcp;ofi_rxm"));
  EXPECT_EQ(make_transport("auto", {}).err().code, errc::unsupported);
}

TEST(libfabric_transport, says_when_the_bind_address_is_not_ours) {
  auto elsewhere = libfabric_transport::create({"tcp;ofi_rxm", "192.0.2.7", 4, 1000});
  ASSERT_FALSE(elsewhere);
  EXPECT_EQ(elsewhere.err().code, errc::unsupported);
  EXPECT_THAT(elsewhere.err().detail, HasSubstr("192.0.2.7"));
}

TEST(libfabric_transport, refuses_a_source_of_another_start) {
  source_process source{"tcp;ofi_rxm", 1U << 16U, 1};
  auto reading = *libfabric_transport::create({});
  completions done;
  auto stale = *parse_libfabric(source.from());
  stale.key ^= 0x5555;
  auto refused = reading->open(encode(stale), done.handler());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.err().code, errc::peer_lost);
  auto other = stale;
  other.provider = "net";
  EXPECT_EQ(reading->open(encode(other), done.handler()).err().code, errc::incompatible);
  EXPECT_TRUE(reading->open(source.from(), done.handler())) << "after a refusal";
  EXPECT_EQ(done.count(), 0U);
}

TEST(libfabric_transport, gives_up_connecting_to_a_stalled_source) {
  source_process source{"tcp;ofi_rxm", 1U << 16U, 1};
  source.stop();
  auto reading = *libfabric_transport::create({"tcp;ofi_rxm", "127.0.0.1", 4, 200});
  auto region = reading->open(source.from(), {});
  ASSERT_FALSE(region);
  EXPECT_EQ(region.err().code, errc::peer_lost);
  EXPECT_THAT(region.err().detail, HasSubstr("does not answer"));
}

TEST(libfabric_transport, reads_into_registered_memory_only) {
  source_process source{"tcp;ofi_rxm", 1U << 16U, 1};
  auto reading = *libfabric_transport::create({});
  completions done;
  auto region = *reading->open(source.from(), done.handler());
  std::vector<std::byte> landing(100);
  EXPECT_EQ(region->read(0, landing, 1).err().code, errc::invalid_argument);
  ASSERT_TRUE(reading->register_destination(std::span{landing}.first(50)));
  EXPECT_EQ(region->read(0, landing, 1).err().code, errc::invalid_argument);
  EXPECT_TRUE(region->read(0, std::span{landing}.first(50), 1));
  ASSERT_TRUE(done.wait_for(1));
}

TEST(libfabric_transport, serves_and_reads_in_one_process) {
  std::vector<std::byte> memory(100000);
  fill_pattern(memory, 5);
  auto one = *libfabric_transport::create({});
  auto from = one->serve(memory);
  ASSERT_TRUE(from) << from.err().text();
  std::vector<std::byte> landing(memory.size());
  ASSERT_TRUE(one->register_destination(landing));
  completions done;
  auto region = one->open(*from, done.handler());
  ASSERT_TRUE(region) << region.err().text();
  ASSERT_TRUE((*region)->read(0, landing, 1));
  ASSERT_TRUE(done.wait_for(1));
  EXPECT_EQ(landing, memory);
}

} // namespace
} // namespace penstock::fabric
