#include "cluster/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::cluster {
namespace {

candidate prefill(node_index node, uint64_t queued = 0) {
  candidate c;
  c.node = node;
  c.incarnation = 100 + node;
  c.roles.prefill = true;
  c.ready = true;
  c.queued_tokens = queued;
  c.blocks_free = c.blocks_capacity = 64;
  return c;
}

candidate decode(node_index node, uint32_t rows = 0) {
  candidate c = prefill(node);
  c.roles = {};
  c.roles.decode = true;
  c.running_rows = rows;
  c.rows_max = 16;
  return c;
}

std::pair<node_index, node_index> pair_of(const result<placement>& r) {
  EXPECT_TRUE(r) << (r ? "" : r.err().text());
  return r ? std::pair{r->prefill.node, r->decode.node} : std::pair{~0U, ~0U};
}

TEST(placement, takes_the_least_loaded_of_each_role) {
  std::vector<candidate> view{prefill(0, 500), prefill(1, 20), decode(2, 3), decode(3, 1)};
  EXPECT_EQ(pair_of(place(view, {10, 10, {}})), (std::pair{1U, 3U}));
  EXPECT_EQ(place(view, {10, 10, {}})->decode.incarnation, 103U);
}

TEST(placement, ties_go_to_the_lower_index_whatever_the_order_of_the_view) {
  std::vector<candidate> view{decode(3), prefill(4), decode(1), prefill(2)};
  do {
    EXPECT_EQ(pair_of(place(view, {10, 10, {}})), (std::pair{2U, 1U}));
  } while (std::next_permutation(view.begin(), view.end(),
                                 [](const auto& a, const auto& b) { return a.node < b.node; }));
}

TEST(placement, names_the_role_that_is_missing) {
  std::vector<candidate> view{prefill(0)};
  auto none = place(view, {1, 1, {}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.err().code, errc::unavailable);
  EXPECT_EQ(none.err().detail, "no decode node is ready");
  EXPECT_EQ(place({}, {1, 1, {}}).err().detail, "no prefill node is ready");
}

TEST(placement, never_takes_an_unready_node) {
  std::vector<candidate> view{prefill(0), prefill(1, 9999), decode(2)};
  view[0].ready = false;
  EXPECT_EQ(pair_of(place(view, {1, 1, {}})).first, 1U);
  view[1].ready = false;
  EXPECT_EQ(place(view, {1, 1, {}}).err().code, errc::unavailable);
}

TEST(placement, avoids_what_failed_unless_nothing_else_is_left) {
  std::vector<candidate> view{prefill(0), prefill(1, 9999), decode(2)};
  std::vector<node_start> avoid{{0, 100}, {2, 102}};
  EXPECT_EQ(pair_of(place(view, {1, 1, avoid})), (std::pair{1U, 2U}));
  // A later start of the same node has not failed.
  view[0].incarnation = 101;
  EXPECT_EQ(pair_of(place(view, {1, 1, avoid})).first, 0U);
}

TEST(placement, prefers_room_over_an_idle_but_full_pool) {
  std::vector<candidate> view{prefill(0), decode(1, 0), decode(2, 9)};
  view[1].blocks_free = 1;
  EXPECT_EQ(pair_of(place(view, {16, 16, {}})).second, 2U);
  EXPECT_EQ(pair_of(place(view, {10, 6, {}})).second, 1U); // One block is enough.
  view[2].running_rows = view[2].rows_max;
  view[2].blocks_free = 64;
  EXPECT_EQ(pair_of(place(view, {16, 16, {}})).second, 1U); // Both crowded: least rows.
}

TEST(placement, compares_rows_as_a_share_of_what_each_node_runs) {
  std::vector<candidate> view{prefill(0), decode(1, 4), decode(2, 6)};
  view[1].rows_max = 4 + 1;
  view[2].rows_max = 64;
  EXPECT_EQ(pair_of(place(view, {1, 1, {}})).second, 2U);
}

TEST(placement, a_request_no_pool_can_hold_is_the_requests_fault) {
  std::vector<candidate> view{prefill(0), decode(1)};
  auto r = place(view, {1000, 25, {}}); // 1025 tokens, pools of 1024.
  ASSERT_FALSE(r);
  EXPECT_EQ(r.err().code, errc::prompt_too_long);
  EXPECT_TRUE(place(view, {1000, 24, {}}));
  EXPECT_TRUE(place(view, {1025, 0, {}}).err().code == errc::prompt_too_long);
  EXPECT_FALSE(place(view, {0xffffffff, 0xffffffff, {}})); // Sums do not wrap.
}

TEST(placement, one_node_may_serve_both_roles) {
  candidate both = prefill(0);
  both.roles.decode = true;
  EXPECT_EQ(pair_of(place(std::vector{both}, {1, 1, {}})), (std::pair{0U, 0U}));
}

} // namespace
} // namespace penstock::cluster
