// Whatever happens to a transfer's messages and reads: it ends, and landed means right.
#include "tests/fabric/hand_over.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace penstock::fabric {
namespace {

struct story {
  explicit story(uint64_t seed) : draw(seed) {
    geometry.layers = 1 + static_cast<uint32_t>(draw.below(4));
    geometry.piece_bytes = 8 * (1 + draw.below(20));
    geometry.source_blocks = 1 + static_cast<uint32_t>(draw.below(900));
    geometry.destination_blocks = 1 + static_cast<uint32_t>(draw.below(40));
    count = static_cast<uint32_t>(
      draw.below(std::min(geometry.source_blocks, geometry.destination_blocks) + 1));
    first_index = static_cast<uint32_t>(draw.below(5));
    limits.unit_bytes_max = geometry.piece_bytes * (1 + draw.below(6));
    limits.bytes_in_flight_max = limits.unit_bytes_max * (1 + draw.below(6));
    limits.reads_in_flight_max = 1 + static_cast<uint32_t>(draw.below(12));
    limits.retries_max = static_cast<uint32_t>(draw.below(4));
    fault_share = draw.below(3) == 0 ? 0 : draw.below(30);
  }
  /// Distinct blocks, in runs: a shuffled start, then mostly neighbours.
  std::vector<uint32_t> some_blocks(uint32_t of) {
    std::vector<uint32_t> all(of);
    std::iota(all.begin(), all.end(), 0U);
    if (draw.below(2) == 0)
      std::rotate(all.begin(), all.begin() + static_cast<ptrdiff_t>(draw.below(of)), all.end());
    else
      for (size_t i = of; i > 1; --i)
        if (draw.below(3) == 0)
          std::swap(all[i - 1], all[draw.below(i)]);
    all.resize(count);
    return all;
  }
  delivery draw_delivery() {
    if (draw.below(100) >= fault_share)
      return {};
    auto how = static_cast<delivery::kind>(1 + draw.below(5));
    return {how, draw.below(2) == 0 ? errc::transfer_failed : errc::peer_lost};
  }

  rng draw;
  transfer_geometry geometry;
  transfer_limits limits;
  uint32_t count = 0;
  uint32_t first_index = 0;
  uint64_t fault_share = 0; ///< Of 100.
};

std::vector<published> cut_into_messages(story& told, fake_source& source,
                                         const std::vector<uint32_t>& blocks) {
  std::vector<published> out;
  for (size_t at = 0; at < blocks.size();) {
    size_t size = std::min<size_t>(1 + told.draw.below(7), blocks.size() - at);
    auto begin = blocks.begin() + static_cast<ptrdiff_t>(at);
    out.push_back(source.publish(told.first_index + static_cast<uint32_t>(at),
                                 {begin, begin + static_cast<ptrdiff_t>(size)},
                                 at + size == blocks.size() && told.draw.below(2) == 0));
    at += size;
  }
  if (out.empty() || !out.back().last)
    out.push_back(source.publish(told.first_index + told.count, {}, true));
  for (size_t i = 0, twice = told.draw.below(4); i < twice; ++i)
    out.push_back(out[told.draw.below(out.size())]);
  for (size_t i = out.size(); i > 1; --i)
    std::swap(out[i - 1], out[told.draw.below(i)]);
  return out;
}

/// Everything a run can do, one step at a time, until nothing is left to do.
struct run {
  story told;
  local_fabric fabric;
  fake_source source;
  local_transport serving;
  std::vector<uint32_t> source_blocks;
  std::vector<published> messages;
  fake_destination to;
  bool reused = false;
  uint64_t steps = 0;

  run(const story& s, descriptor (*serve)(local_transport&, fake_source&))
    : told(s), source(told.geometry, told.draw.next()), serving(fabric, 1000),
      source_blocks(told.some_blocks(told.geometry.source_blocks)),
      messages(cut_into_messages(told, source, source_blocks)),
      to(fabric, serve(serving, source), told.geometry,
         told.some_blocks(told.geometry.destination_blocks), told.first_index, told.limits) {}

  [[nodiscard]] bool step() {
    ++steps;
    bool active = to.moving.state() == transfer_state::reading;
    if (!messages.empty() && told.draw.below(3) == 0) {
      EXPECT_TRUE(to.moving.add(messages.back()));
      messages.pop_back();
      return true;
    }
    if (active && told.fault_share > 0 && !source_blocks.empty() && told.draw.below(400) == 0) {
      source.reuse(source_blocks[told.draw.below(source_blocks.size())], steps);
      reused = true;
    }
    if (told.draw.below(2) == 0 && to.post(1 + told.draw.below(5)) > 0)
      return true;
    if (fabric.pending_count() > 0) {
      fabric.deliver_one(told.draw.below(fabric.pending_count()), told.draw_delivery());
      return true;
    }
    if (to.post() > 0 || !messages.empty())
      return true;
    if (fabric.lost_count() == 0)
      return false;
    to.region.reset(); // The owner's deadline passed.
    to.moving.region_closed();
    to.open();
    return true;
  }
};

descriptor serve(local_transport& serving, fake_source& source) {
  auto served = serving.serve(source.bytes());
  PS_CHECK(served);
  return *served;
}

/// @returns The state it ended in.
transfer_state live_through(uint64_t seed) {
  run all{story{seed}, serve};
  while (all.step()) {
    if (all.steps > 200000) {
      ADD_FAILURE() << "seed " << seed << " does not end";
      break;
    }
  }
  auto state = all.to.moving.state();
  EXPECT_NE(state, transfer_state::reading) << "seed " << seed << " stopped half-way";
  if (state == transfer_state::landed && !all.reused) {
    EXPECT_TRUE(all.to.equals(all.source, all.source_blocks)) << "seed " << seed;
  }
  if (all.told.fault_share == 0) {
    EXPECT_EQ(state, transfer_state::landed) << "seed " << seed;
  }
  EXPECT_EQ(all.to.moving.settle().state, settlement::kind::quiesced) << "seed " << seed;
  EXPECT_EQ(all.to.strays(), 0U) << "seed " << seed;
  return state;
}

TEST(transfer_property, ends_and_never_lands_wrong_bytes) {
  uint64_t landed = 0;
  uint64_t failed = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    auto state = live_through(seed);
    landed += state == transfer_state::landed ? 1 : 0;
    failed += state == transfer_state::failed ? 1 : 0;
    if (testing::Test::HasFailure())
      break;
  }
  // Both endings are common, or the draw tests little.
  EXPECT_GT(landed, 150U);
  EXPECT_GT(failed, 50U);
}

TEST(transfer_property, never_lands_a_block_that_was_reused_before_its_generation_was_read) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    story told{seed};
    told.fault_share = 0;
    if (told.count == 0)
      continue;
    run all{told, serve};
    uint64_t when = told.draw.below(40);
    uint32_t block = all.source_blocks[told.draw.below(all.source_blocks.size())];
    auto before = all.source.words;
    while (all.step()) {
      if (all.steps == when)
        all.source.reuse(block, seed);
      if (all.to.moving.state() != transfer_state::reading)
        break;
    }
    all.source.words = before; // What it held when it was published.
    if (all.to.moving.state() == transfer_state::landed) {
      EXPECT_TRUE(all.to.equals(all.source, all.source_blocks)) << "seed " << seed;
    } else {
      ASSERT_EQ(all.to.moving.state(), transfer_state::failed) << "seed " << seed;
      EXPECT_EQ(all.to.moving.failure().code, errc::stale_data) << "seed " << seed;
    }
  }
}

} // namespace
} // namespace penstock::fabric
