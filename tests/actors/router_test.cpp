#include "actors/peer.hpp"
#include "actors/router.hpp"
#include "ops/probes.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>
#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

struct test_config : caf::actor_system_config {
  test_config() { set("scheduler.policy", caf::atom("testing")); }
};

/// Node 1, second start, with a directory and a peer actor that leads to node 2.
class router_test : public ::testing::Test {
protected:
  router_test() {
    auto count = [this](uint32_t& into) {
      return system_.spawn([&into](caf::event_based_actor*) {
        return caf::behavior{[&into](const schema::message&) { ++into; }};
      });
    };
    router_ = system_.spawn(router, schema::node_ref{1, 2}, probes_.node);
    caf::anon_send(router_, set_role{schema::role::directory, count(delivered_)});
    caf::anon_send(router_, set_peer{2, count(sent_on_)});
    jobs_.run();
  }
  ~router_test() override {
    caf::anon_send_exit(router_, caf::exit_reason::kill);
    jobs_.run();
  }

  void send(schema::node_ref from, schema::node_ref to,
            schema::role role = schema::role::directory) {
    schema::header h;
    h.from = from;
    h.to = to;
    h.to_role = role;
    caf::anon_send(router_, schema::encode(h, schema::heartbeat{}));
    jobs_.run();
  }
  [[nodiscard]] double dropped(ops::drop_reason why) const {
    return probes_.node.dropped_[static_cast<size_t>(why)].value();
  }

  ops::metrics metrics_;
  ops::probes probes_{metrics_, {"n", "decode", "1", "", 0, 0}};
  uint32_t delivered_ = 0;
  uint32_t sent_on_ = 0;
  test_config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& jobs_
    = dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  caf::actor router_;
};

TEST_F(router_test, delivers_what_is_for_a_role_here_and_sends_on_what_is_not) {
  send({2, 5}, {1, 2});
  send({2, 5}, {1, 0}); // To whichever start.
  send({1, 2}, {2, 5});
  EXPECT_EQ(delivered_, 2U);
  EXPECT_EQ(sent_on_, 1U);
  for (auto why : {ops::drop_reason::malformed, ops::drop_reason::stale, ops::drop_reason::stranger,
                   ops::drop_reason::unreachable})
    EXPECT_EQ(dropped(why), 0);
}

TEST_F(router_test, drops_and_counts_words_for_or_from_earlier_starts) {
  send({2, 5}, {1, 1});
  EXPECT_EQ(dropped(ops::drop_reason::stale), 1);
  send({2, 5}, {1, 2});
  send({2, 4}, {1, 2});
  EXPECT_EQ(dropped(ops::drop_reason::stale), 2);
  EXPECT_EQ(delivered_, 1U);
}

TEST_F(router_test, drops_and_counts_words_for_strangers_and_for_roles_that_are_not_here) {
  send({1, 2}, {3, 0});                       // No peer leads there.
  send({3, 1}, {2, 0});                       // Relays for nobody.
  send({2, 5}, {1, 2}, schema::role::decode); // Not played here.
  EXPECT_EQ(dropped(ops::drop_reason::stranger), 3);
  EXPECT_EQ(delivered_ + sent_on_, 0U);
}

TEST_F(router_test, a_peer_without_a_connection_drops_and_counts) {
  struct dead_link final : link {
    bool send(const schema::message&) override { return false; }
    void maintain(caf::event_based_actor&) override {}
  };
  auto line = std::make_shared<std::unique_ptr<link>>(std::make_unique<dead_link>());
  auto way = system_.spawn(peer, line, std::chrono::microseconds{1000}, probes_.node);
  caf::anon_send(way, schema::encode({}, schema::heartbeat{}));
  jobs_.run();
  EXPECT_EQ(dropped(ops::drop_reason::unreachable), 1);
  caf::anon_send_exit(way, caf::exit_reason::kill);
  jobs_.run();
}

} // namespace
} // namespace penstock::actors
