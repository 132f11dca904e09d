#include "fabric/transfer.hpp"
#include "tests/fabric/hand_over.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace penstock::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class transfer_between : public testing::Test {
protected:
  transfer_between() {
    auto served = serving.serve(source.bytes());
    PS_CHECK(served);
    from = *served;
  }
  void start(std::vector<uint32_t> into, uint32_t first_index = 0, transfer_limits limits = {}) {
    to.emplace(fabric, from, geometry, std::move(into), first_index, limits);
  }
  /// Posts and delivers until nothing is left to post.
  void run() {
    while (to->post() > 0)
      fabric.pump(order);
  }
  [[nodiscard]] transfer& moving() { return to->moving; }

  transfer_geometry geometry{3, 64, 20, 16};
  local_fabric fabric;
  rng order{1};
  fake_source source{geometry, 42};
  local_transport serving{fabric};
  descriptor from;
  std::optional<fake_destination> to;
};

TEST_F(transfer_between, lands_once_all_is_published_and_read) {
  start({4, 5, 6, 9});
  ASSERT_TRUE(moving().add(source.publish(0, {10, 11}, false)));
  run();
  EXPECT_EQ(moving().state(), transfer_state::reading);
  ASSERT_TRUE(moving().add(source.publish(2, {12, 2}, true)));
  run();
  EXPECT_EQ(moving().state(), transfer_state::landed);
  EXPECT_TRUE(to->equals(source, {10, 11, 12, 2}));
  EXPECT_EQ(to->strays(), 0U);
  EXPECT_EQ(moving().stats().bytes, 4 * 3 * 64U);
  EXPECT_EQ(moving().stats().retries, 0U);
  EXPECT_EQ(moving().settle().state, settlement::kind::quiesced);
}

TEST_F(transfer_between, joins_neighbours_into_one_read_per_layer) {
  start({4, 5, 6, 9});
  ASSERT_TRUE(moving().add(source.publish(0, {10, 11, 12, 13}, true)));
  auto reads = moving().next_reads(100);
  ASSERT_EQ(reads.size(), 6U); // Per layer: 10 to 12, and 13, whose destination is apart.
  EXPECT_EQ(reads[0].into.size(), 3 * 64U);
  EXPECT_EQ(reads[0].offset, geometry.source_offset(0, 10));
  EXPECT_EQ(reads[0].into.data(), to->piece(0, 4).data());
  EXPECT_EQ(transfer::id_of(reads[0].cookie), 9U);
}

TEST_F(transfer_between, of_no_blocks_lands_with_the_last_message) {
  start({}, 7);
  EXPECT_EQ(moving().state(), transfer_state::reading);
  ASSERT_TRUE(moving().add(source.publish(7, {}, true)));
  EXPECT_EQ(moving().state(), transfer_state::landed);
  EXPECT_THAT(moving().next_reads(10), IsEmpty());
}

TEST_F(transfer_between, waits_for_the_last_message_even_if_every_block_is_here) {
  start({1});
  ASSERT_TRUE(moving().add(source.publish(0, {3}, false)));
  run();
  EXPECT_EQ(moving().state(), transfer_state::reading);
  ASSERT_TRUE(moving().add(source.publish(0, {3}, true)));
  EXPECT_EQ(moving().state(), transfer_state::landed);
}

TEST_F(transfer_between, finds_a_source_block_that_was_reused_before_its_bytes_were_read) {
  start({1, 2});
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4}, true)));
  ASSERT_GT(to->post(), 0U);
  source.reuse(4, 5);
  fabric.pump(order);
  run();
  ASSERT_EQ(moving().state(), transfer_state::failed);
  EXPECT_EQ(moving().failure().code, errc::stale_data);
}

TEST_F(transfer_between, finds_a_reused_block_whose_bytes_are_equal) {
  start({1});
  ASSERT_TRUE(moving().add(source.publish(0, {3}, true)));
  ASSERT_GT(to->post(), 0U);
  fabric.pump(order);
  ++source.generation(3); // Given back, not written yet.
  run();
  ASSERT_EQ(moving().state(), transfer_state::failed);
  EXPECT_EQ(moving().failure().code, errc::stale_data);
}

TEST_F(transfer_between, reads_a_piece_again_whose_digest_is_wrong) {
  start({1, 2});
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4}, true)));
  ASSERT_EQ(to->post(), 3U);
  fabric.deliver_one(1, {delivery::kind::flipped});
  fabric.pump(order);
  run();
  EXPECT_EQ(moving().state(), transfer_state::landed);
  EXPECT_TRUE(to->equals(source, {3, 4}));
  EXPECT_EQ(moving().stats().wrong_digests, 1U);
  EXPECT_EQ(moving().stats().retries, 1U);
}

TEST_F(transfer_between, gives_up_on_a_digest_that_stays_wrong) {
  start({1});
  auto lie = source.publish(0, {3}, true);
  lie.digests[1] ^= 1;
  ASSERT_TRUE(moving().add(lie));
  run();
  ASSERT_EQ(moving().state(), transfer_state::failed);
  EXPECT_EQ(moving().failure().code, errc::stale_data);
  EXPECT_EQ(moving().stats().retries, 3U);
}

TEST_F(transfer_between, tries_a_failed_read_again_and_then_gives_up) {
  start({1});
  ASSERT_TRUE(moving().add(source.publish(0, {3}, true)));
  for (int i = 0; i < 3; ++i) {
    ASSERT_GT(to->post(), 0U);
    fabric.deliver_one(fabric.pending_count() - 1, {delivery::kind::partial});
    ASSERT_EQ(moving().state(), transfer_state::reading);
  }
  ASSERT_GT(to->post(), 0U);
  fabric.deliver_one(fabric.pending_count() - 1, {delivery::kind::failed});
  ASSERT_EQ(moving().state(), transfer_state::failed);
  EXPECT_EQ(moving().failure().code, errc::transfer_failed);
  EXPECT_EQ(moving().settle().state, settlement::kind::pending);
  fabric.pump(order);
  EXPECT_EQ(moving().settle().state, settlement::kind::quiesced);
}

TEST_F(transfer_between, keeps_to_its_window_of_reads_and_bytes) {
  transfer_limits limits;
  limits.reads_in_flight_max = 2;
  start({1, 3, 5}, 0, limits);
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4, 5}, true)));
  EXPECT_EQ(moving().next_reads(100).size(), 2U);
  EXPECT_THAT(moving().next_reads(100), IsEmpty());
  limits.reads_in_flight_max = 8;
  limits.bytes_in_flight_max = 130; // Two pieces.
  start({1, 3, 5}, 0, limits);
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4, 5}, true)));
  EXPECT_EQ(moving().next_reads(100).size(), 2U);
  limits.bytes_in_flight_max = 1; // One is always allowed.
  start({1, 3, 5}, 0, limits);
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4, 5}, true)));
  run();
  EXPECT_EQ(moving().state(), transfer_state::landed);
}

TEST_F(transfer_between, names_the_blocks_that_reads_may_still_write_into_when_cancelled) {
  start({1, 2, 7});
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4, 9}, true)));
  ASSERT_EQ(to->post(2), 2U); // Layer 0: blocks 1 and 2, and 7.
  fabric.deliver_one(1);
  auto now = moving().cancel();
  EXPECT_EQ(moving().state(), transfer_state::cancelled);
  EXPECT_EQ(now.state, settlement::kind::pending);
  EXPECT_THAT(now.blocks, ElementsAre(1, 2));
  EXPECT_FALSE(now.scratch);
  EXPECT_THAT(moving().next_reads(10), IsEmpty());
  fabric.deliver_one(0);
  EXPECT_EQ(moving().settle().state, settlement::kind::quiesced);
  EXPECT_THAT(moving().settle().blocks, IsEmpty());
}

TEST_F(transfer_between, stays_abandoned_until_the_region_is_closed) {
  start({1});
  ASSERT_TRUE(moving().add(source.publish(0, {3}, true)));
  ASSERT_EQ(to->post(), 3U);
  fabric.deliver_one(0, {delivery::kind::lost});
  auto now = moving().abandon();
  EXPECT_EQ(now.state, settlement::kind::abandoned);
  EXPECT_THAT(now.blocks, ElementsAre(1));
  to->region.reset();
  EXPECT_EQ(moving().settle().state, settlement::kind::abandoned);
  moving().region_closed();
  EXPECT_EQ(moving().settle().state, settlement::kind::quiesced);
  EXPECT_EQ(fabric.lost_count(), 0U);
}

TEST_F(transfer_between, goes_on_after_the_region_was_opened_again) {
  start({1, 2});
  ASSERT_TRUE(moving().add(source.publish(0, {3, 4}, true)));
  ASSERT_EQ(to->post(), 3U);
  fabric.deliver_one(1, {delivery::kind::lost});
  to->region.reset();
  moving().region_closed();
  to->open();
  run();
  EXPECT_EQ(moving().state(), transfer_state::landed);
  EXPECT_TRUE(to->equals(source, {3, 4}));
}

TEST_F(transfer_between, ignores_completions_that_are_not_its_own_or_come_twice) {
  start({1});
  ASSERT_TRUE(moving().add(source.publish(0, {3}, true)));
  auto reads = moving().next_reads(1);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_FALSE(moving().completed(reads[0].cookie + 1, errc::ok));
  EXPECT_FALSE(moving().completed(reads[0].cookie ^ (uint64_t{1} << 40U), errc::ok));
  EXPECT_TRUE(moving().completed(reads[0].cookie, errc::peer_lost));
  EXPECT_FALSE(moving().completed(reads[0].cookie, errc::ok));
}

TEST_F(transfer_between, asks_again_for_a_read_that_was_not_posted) {
  start({1});
  ASSERT_TRUE(moving().add(source.publish(0, {3}, true)));
  auto first = moving().next_reads(1);
  moving().withdraw(first[0].cookie);
  auto again = moving().next_reads(1);
  EXPECT_EQ(again[0].offset, first[0].offset);
  EXPECT_NE(again[0].cookie, first[0].cookie);
  EXPECT_EQ(moving().stats().reads, 1U);
  EXPECT_EQ(moving().stats().retries, 0U);
}

} // namespace
} // namespace penstock::fabric
