#include "fabric/read_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::fabric {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

published_blocks known(const transfer_geometry& geometry, std::vector<uint32_t> source) {
  auto count = static_cast<uint32_t>(source.size());
  published_blocks out{geometry, 0, count};
  published all{0, std::move(source), std::vector<uint64_t>(count),
                std::vector<uint64_t>(size_t{count} * geometry.layers), true};
  PS_CHECK(out.add(all));
  return out;
}

std::vector<piece_at> layer_of(uint32_t layer, uint32_t count) {
  std::vector<piece_at> out;
  for (uint32_t i = 0; i < count; ++i)
    out.push_back({layer, i});
  return out;
}

TEST(read_plan, splits_where_either_side_jumps_and_at_the_unit_limit) {
  transfer_geometry geometry{2, 10, 100, 100};
  auto source = known(geometry, {5, 6, 7, 20, 21, 22, 23});
  std::vector<uint32_t> to{1, 2, 9, 10, 11, 12, 13};
  EXPECT_THAT(plan_reads(geometry, source, to, layer_of(1, 7), 1000),
              ElementsAre(read_unit{1, 0, 2}, read_unit{1, 2, 1}, read_unit{1, 3, 4}));
  EXPECT_THAT(
    plan_reads(geometry, source, to, layer_of(0, 7), 39),
    ElementsAre(read_unit{0, 0, 2}, read_unit{0, 2, 1}, read_unit{0, 3, 3}, read_unit{0, 6, 1}));
}

TEST(read_plan, never_joins_layers_and_reads_a_piece_longer_than_a_unit_whole) {
  transfer_geometry geometry{2, 10, 100, 100};
  auto source = known(geometry, {5, 6});
  std::vector<uint32_t> to{1, 2};
  std::vector<piece_at> pieces{{0, 1}, {1, 0}, {1, 1}};
  EXPECT_THAT(plan_reads(geometry, source, to, pieces, 1000),
              ElementsAre(read_unit{0, 1, 1}, read_unit{1, 0, 2}));
  EXPECT_THAT(plan_reads(geometry, source, to, pieces, 3),
              ElementsAre(read_unit{0, 1, 1}, read_unit{1, 0, 1}, read_unit{1, 1, 1}));
}

TEST(read_plan, reads_generations_across_gaps_but_within_a_slot) {
  std::vector<uint32_t> blocks{3, 4, 9, 12, 13, 40};
  EXPECT_THAT(plan_table_reads(blocks, 10),
              ElementsAre(table_range{3, 10}, table_range{13, 1}, table_range{40, 1}));
  EXPECT_THAT(plan_table_reads({}, 10), IsEmpty());
}

TEST(generation_table, pads_to_a_page_before_the_pool) {
  EXPECT_EQ(generation_table{1}.pool_offset(), 4096U);
  EXPECT_EQ(generation_table{512}.pool_offset(), 4096U);
  EXPECT_EQ(generation_table{513}.pool_offset(), 8192U);
  EXPECT_EQ(generation_table{513}.served_bytes(100), 8292U);
  EXPECT_EQ(generation_table::entry_offset(7), 56U);
  transfer_geometry geometry{3, 64, 513, 4};
  EXPECT_EQ(geometry.source_offset(1, 2), 8192U + (513 + 2) * 64);
  EXPECT_EQ(geometry.source_bytes(), 8192U + 3 * 513 * 64);
}

} // namespace
} // namespace penstock::fabric
