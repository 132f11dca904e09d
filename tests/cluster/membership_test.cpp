#include "base/rng.hpp"
#include "cluster/membership.hpp"

#include <gtest/gtest.h>

#include <map>

namespace penstock::cluster {
namespace {

using kind = membership_event::kind;
using events = std::vector<membership_event>;
constexpr uint64_t dead_after = 1500;

TEST(membership, first_heartbeat_brings_a_node_up_once) {
  membership m{2, dead_after};
  EXPECT_FALSE(m.alive(1));
  EXPECT_TRUE(m.tick(1'000'000).empty()); // Never heard is not dead.
  EXPECT_EQ(m.observe(1, 7, 1, 1'000'000), (events{{kind::up, 1, 7}}));
  EXPECT_TRUE(m.observe(1, 7, 2, 1'000'100).empty());
  EXPECT_TRUE(m.alive(1));
  EXPECT_EQ(m.incarnation(1), 7U);
  EXPECT_EQ(m.alive_count(), 1U);
}

TEST(membership, silence_of_exactly_dead_after_is_death) {
  membership m{1, dead_after};
  (void)m.observe(0, 1, 1, 100);
  EXPECT_TRUE(m.tick(100 + dead_after - 1).empty());
  EXPECT_EQ(m.tick(100 + dead_after), (events{{kind::down, 0, 1}}));
  EXPECT_TRUE(m.tick(100 + 2 * dead_after).empty()); // Once.
  EXPECT_FALSE(m.alive(0));
}

TEST(membership, a_later_incarnation_replaces_the_earlier_for_ever) {
  membership m{1, dead_after};
  (void)m.observe(0, 5, 900, 0);
  EXPECT_EQ(m.observe(0, 6, 1, 10), (events{{kind::replaced, 0, 5}, {kind::up, 0, 6}}));
  EXPECT_TRUE(m.observe(0, 5, 901, 20).empty());
  (void)m.tick(10 + dead_after);
  EXPECT_FALSE(m.alive(0));
  EXPECT_TRUE(m.observe(0, 5, 902, 9000).empty());
  EXPECT_FALSE(m.alive(0)); // Not even when nobody else is there.
}

TEST(membership, a_dead_incarnation_that_is_replaced_is_still_said_to_be) {
  membership m{1, dead_after};
  (void)m.observe(0, 5, 1, 0);
  (void)m.tick(dead_after);
  EXPECT_EQ(m.observe(0, 6, 1, 9000), (events{{kind::replaced, 0, 5}, {kind::up, 0, 6}}));
}

TEST(membership, the_same_incarnation_heard_again_comes_back) {
  membership m{1, dead_after};
  (void)m.observe(0, 5, 1, 0);
  (void)m.tick(dead_after);
  EXPECT_TRUE(m.observe(0, 5, 1, 5000).empty()); // An old duplicate proves nothing.
  EXPECT_EQ(m.observe(0, 5, 40, 5001), (events{{kind::up, 0, 5}}));
}

TEST(membership, duplicates_and_late_heartbeats_prolong_nothing) {
  membership m{1, dead_after};
  (void)m.observe(0, 1, 10, 0);
  for (uint64_t sequence : {10U, 9U, 1U})
    EXPECT_TRUE(m.observe(0, 1, sequence, dead_after - 1).empty());
  EXPECT_EQ(m.tick(dead_after).size(), 1U);
}

TEST(membership, foreign_indices_and_incarnation_zero_are_ignored) {
  membership m{2, dead_after};
  EXPECT_TRUE(m.observe(2, 1, 1, 0).empty());
  EXPECT_TRUE(m.observe(~0U, 1, 1, 0).empty());
  EXPECT_TRUE(m.observe(0, 0, 1, 0).empty());
  EXPECT_EQ(m.alive_count(), 0U);
  EXPECT_FALSE(m.alive(2));
  EXPECT_EQ(m.incarnation(2), 0U);
}

TEST(membership, time_that_goes_back_kills_nobody) {
  membership m{1, dead_after};
  (void)m.observe(0, 1, 1, 10'000);
  EXPECT_TRUE(m.tick(5).empty());
  (void)m.observe(0, 1, 2, 7); // Counts as heard at 10'000.
  EXPECT_TRUE(m.tick(10'000 + dead_after - 1).empty());
  EXPECT_EQ(m.tick(10'000 + dead_after).size(), 1U);
}

TEST(membership, counts_heartbeats_that_did_not_come) {
  membership m{1, dead_after};
  (void)m.observe(0, 1, 1, 0);
  (void)m.observe(0, 1, 2, 1);
  EXPECT_EQ(m.missed(), 0U);
  (void)m.observe(0, 1, 6, 2);
  EXPECT_EQ(m.missed(), 3U);
}

/// Heartbeats of restarting nodes, shuffled, repeated and dropped, against what must hold.
TEST(membership, property_bounds_hold_under_loss_reorder_and_restarts) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    rng random{seed};
    membership m{3, dead_after};
    std::map<node_index, incarnation_id> up; // From events alone.
    std::map<node_index, time_us> fresh;     // Last heartbeat that was new.
    std::map<node_index, std::pair<incarnation_id, uint64_t>> newest;
    time_us now = 0;
    time_us ticked = 0;
    auto apply = [&](const events& list) {
      for (const membership_event& e : list) {
        if (e.what == kind::up) {
          EXPECT_EQ(up.count(e.node), 0U) << "seed " << seed;
          up[e.node] = e.incarnation;
        } else if (e.what == kind::down) {
          EXPECT_EQ(up.at(e.node), e.incarnation) << "seed " << seed;
          EXPECT_GE(now - fresh.at(e.node), dead_after) << "seed " << seed;
          up.erase(e.node);
        } else {
          up.erase(e.node);
        }
      }
    };
    for (int step = 0; step < 300; ++step) {
      now += random.below(400);
      auto node = static_cast<node_index>(random.below(3));
      std::pair<incarnation_id, uint64_t> beat{1 + random.below(1 + step / 60),
                                               1 + random.below(1 + step)};
      if (beat > newest[node]) {
        newest[node] = beat;
        fresh[node] = now;
      }
      apply(m.observe(node, beat.first, beat.second, now));
      if (random.below(3) == 0) {
        apply(m.tick(now));
        ticked = now;
      }
      for (node_index i = 0; i < 3; ++i) {
        EXPECT_EQ(m.alive(i), up.count(i) > 0) << "seed " << seed;
        EXPECT_EQ(m.incarnation(i), newest[i].first) << "seed " << seed;
        if (fresh.count(i) == 0)
          continue;
        bool late = now - fresh[i] >= dead_after;
        EXPECT_TRUE(late || m.alive(i)) << "seed " << seed;
        EXPECT_FALSE(late && ticked == now && m.alive(i)) << "seed " << seed;
      }
      if (HasFailure())
        return;
    }
  }
}

TEST(membership_death, a_bound_of_zero_is_a_bug) {
  EXPECT_DEATH((membership{1, 0}), "check failed: dead_after_us > 0");
}

} // namespace
} // namespace penstock::cluster
