#include "actors/prefill.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>
#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

class still_clock final : public clock {
public:
  [[nodiscard]] time_us now() const noexcept override { return 1; }
};

struct test_config : caf::actor_system_config {
  test_config() { set("scheduler.policy", caf::atom("testing")); }
};

TEST(prefill, counts_blocks_that_are_only_kept_for_their_content_as_free) {
  test_config config;
  caf::actor_system system{config};
  auto& jobs = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
  std::vector<uint64_t> generations(8);
  gpu::block_pool pool{generations};
  gpu::prefix_cache cache{pool, 2};
  auto held = pool.acquire(3);
  ASSERT_TRUE(held);
  {
    auto idle = pool.acquire(2);
    ASSERT_TRUE(idle);
    cache.insert(std::vector<token_id>{1, 2, 3, 4}, idle->blocks());
  }
  ASSERT_EQ(pool.counts().cached, 2U);
  node_load load;
  still_clock time;
  auto nobody = [&system] {
    return system.spawn(
      [](caf::event_based_actor*) { return caf::behavior{[](const step_ptr&) {}}; });
  };
  prefill_setup how;
  how.limits = {1, 8, 8, 2};
  how.pool = &pool;
  how.cache = &cache;
  how.time = &time;
  how.load = &load;
  how.spawn_device = [&nobody](const caf::actor&) { return nobody(); };
  how.spawn_publisher = nobody;
  auto role = system.spawn(prefill, how);
  jobs.run();
  EXPECT_EQ(load.blocks_free, 5U);
  EXPECT_EQ(load.blocks_capacity, 8U);
  caf::anon_send_exit(role, caf::exit_reason::kill);
  jobs.run();
}

} // namespace
} // namespace penstock::actors
