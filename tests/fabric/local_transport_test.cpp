#include "fabric/local_transport.hpp"

#include <gtest/gtest.h>

#include <array>

namespace penstock::fabric {
namespace {

class local_transport_pair : public testing::Test {
protected:
  local_transport_pair() {
    for (size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<std::byte>(i + 1);
    PS_CHECK(reading.register_destination(landing));
    from = *serving.serve(memory);
    open();
  }
  void open() {
    region = *reading.open(from, [this](std::span<const read_done> some) {
      done.insert(done.end(), some.begin(), some.end());
    });
  }
  [[nodiscard]] bool landed(size_t bytes) const {
    return std::equal(memory.begin(), memory.begin() + static_cast<ptrdiff_t>(bytes),
                      landing.begin());
  }

  std::array<std::byte, 64> memory{};
  std::array<std::byte, 64> landing{};
  local_fabric fabric;
  local_transport serving{fabric};
  local_transport reading{fabric, 2};
  descriptor from;
  std::vector<read_done> done;
  std::unique_ptr<remote_region> region;
};

TEST_F(local_transport_pair, delivers_when_told_and_in_any_order) {
  ASSERT_TRUE(region->read(0, std::span{landing}.first(8), 1));
  ASSERT_TRUE(region->read(8, std::span{landing}.subspan(8, 8), 2));
  EXPECT_EQ(region->read(8, std::span{landing}.first(8), 3).err().code, errc::overloaded);
  EXPECT_TRUE(done.empty());
  fabric.deliver_one(1);
  fabric.deliver_one(0);
  ASSERT_EQ(done.size(), 2U);
  EXPECT_EQ(done[0].cookie, 2U);
  EXPECT_TRUE(landed(16));
}

TEST_F(local_transport_pair, takes_bytes_at_delivery_not_at_posting) {
  ASSERT_TRUE(region->read(0, std::span{landing}.first(8), 1));
  memory[0] = std::byte{99};
  fabric.deliver_one(0);
  EXPECT_EQ(landing[0], std::byte{99});
}

TEST_F(local_transport_pair, can_fail_in_every_way) {
  auto end_as = [this](delivery::kind how) {
    landing.fill(std::byte{0});
    PS_CHECK(region->read(0, std::span{landing}.first(8), 1));
    fabric.deliver_one(0, {how});
    return done.empty() ? errc::internal : done.back().code;
  };
  EXPECT_EQ(end_as(delivery::kind::lost), errc::internal);
  EXPECT_EQ(fabric.lost_count(), 1U);
  EXPECT_EQ(end_as(delivery::kind::failed), errc::transfer_failed);
  EXPECT_TRUE(landing[0] == std::byte{0});
  EXPECT_EQ(end_as(delivery::kind::partial), errc::transfer_failed);
  EXPECT_TRUE(landed(4) && landing[4] == std::byte{0});
  EXPECT_EQ(end_as(delivery::kind::truncated), errc::ok);
  EXPECT_TRUE(landed(4) && landing[4] == std::byte{0});
  EXPECT_EQ(end_as(delivery::kind::flipped), errc::ok);
  EXPECT_TRUE(landed(4) && !landed(8));
}

TEST_F(local_transport_pair, drops_reads_in_flight_when_the_region_closes) {
  ASSERT_TRUE(region->read(0, std::span{landing}.first(8), 1));
  region.reset();
  EXPECT_EQ(fabric.pending_count(), 0U);
  EXPECT_TRUE(done.empty());
  EXPECT_EQ(landing[0], std::byte{0});
}

TEST_F(local_transport_pair, ends_reads_of_a_source_that_died) {
  ASSERT_TRUE(region->read(0, std::span{landing}.first(8), 1));
  fabric.kill(from);
  rng order{1};
  EXPECT_EQ(fabric.pump(order), 1U);
  EXPECT_EQ(done[0].code, errc::peer_lost);
  EXPECT_EQ(reading.open(from, {}).err().code, errc::peer_lost);
}

TEST_F(local_transport_pair, refuses_what_a_real_transport_would) {
  EXPECT_EQ(region->read(60, std::span{landing}.first(8), 1).err().code, errc::invalid_argument);
  EXPECT_EQ(region->read(0, std::span{landing}.first(0), 1).err().code, errc::invalid_argument);
  std::array<std::byte, 8> unknown{};
  EXPECT_EQ(region->read(0, unknown, 1).err().code, errc::invalid_argument);
}

} // namespace
} // namespace penstock::fabric
