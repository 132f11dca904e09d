// A request given up after each single message of its life: whatever it held is free soon after.
//
// A scripted request runs once undisturbed, to count the messages that actors handle until it ends.
// Then the same seed runs once for each of these moments, and the client gives up there.
#include "tests/sim/cluster_sim.hpp"

#include <gtest/gtest.h>

#include <cstdio>

namespace penstock::sim {
namespace {

constexpr uint64_t budget_us = 6'000'000;
/// From the cancel to the last block: a few messages and a sweep.
constexpr uint64_t soon_us = 300'000;

struct life {
  const char* name;
  uint32_t others;   ///< Requests before it.
  uint32_t rows_max; ///< Less than the others: it waits for a row.
  uint32_t decode_blocks;
  network_faults network;
};

void PrintTo(const life& l, std::ostream* out) {
  *out << l.name;
}

class cancel : public ::testing::TestWithParam<life> {
protected:
  struct play {
    explicit play(const life& l) : sim(options_of(l)) {
      sim.run_for(600'000); // Until the nodes know each other.
      for (uint32_t i = 0; i < l.others; ++i)
        others.push_back(ask(40, 24, {}));
      victim = ask(70, 30, {" the world", "ing of"});
    }
    std::shared_ptr<client_view> ask(size_t prompt_tokens, uint32_t tokens_max,
                                     std::vector<std::string> stops) {
      std::vector<token_id> prompt(prompt_tokens);
      for (auto& id : prompt)
        id = static_cast<token_id>(3 + sim.draws().below(490));
      generate_request what;
      what.prompt_ids = std::move(prompt);
      what.sampling.tokens_max = tokens_max;
      what.sampling.ignore_end = true;
      what.stop_strings = std::move(stops);
      what.budget_us = budget_us;
      return sim.ask(std::move(what));
    }
    /// @returns False while somebody has not ended.
    [[nodiscard]] bool others_ended() const {
      for (const auto& o : others)
        if (o->endings == 0)
          return false;
      return true;
    }
    cluster_sim sim;
    std::vector<std::shared_ptr<client_view>> others;
    std::shared_ptr<client_view> victim;
  };

  static sim_options options_of(const life& l) {
    sim_options o;
    o.seed = 11;
    o.rows_max = l.rows_max;
    o.decode_blocks = l.decode_blocks;
    o.network = l.network;
    return o;
  }
};

TEST_P(cancel, after_any_message_frees_everything_soon) {
  uint64_t messages = 0;
  {
    play undisturbed{GetParam()};
    for (; undisturbed.victim->endings == 0; ++messages)
      undisturbed.sim.run_messages(1, budget_us);
    undisturbed.sim.run_for(budget_us);
  }
  uint32_t cancelled = 0, with_tokens = 0, quarantined = 0, held_prefill = 0, held_decode = 0;
  for (uint64_t moment = 0; moment <= messages; ++moment) {
    SCOPED_TRACE("given up after message " + std::to_string(moment));
    play p{GetParam()};
    p.sim.run_messages(moment, budget_us);
    held_prefill += p.sim.blocks(prefill_node).leased > 0 ? 1 : 0;
    held_decode += p.sim.blocks(decode_node).leased > 0 ? 1 : 0;
    with_tokens += p.victim->tokens.empty() ? 0 : 1;
    p.sim.cancel(*p.victim);
    auto from = p.sim.time().now();
    while (p.sim.time().now() < from + budget_us && (p.victim->endings == 0 || !p.others_ended())) {
      p.sim.run_messages(1, budget_us);
      quarantined += p.sim.blocks(decode_node).quarantined > 0 ? 1 : 0;
    }
    // A cancel that is lost, or overtakes what it cancels, leaves it to the deadline.
    const auto& faults = GetParam().network;
    p.sim.run_for(faults.drop + faults.delay > 0 ? budget_us + soon_us : soon_us);
    ASSERT_EQ(p.victim->endings, 1U);
    EXPECT_LE(p.victim->ended_at, from + soon_us);
    cancelled += p.victim->outcome->reason == finish_reason::cancelled ? 1 : 0;
    for (const auto& o : p.others)
      EXPECT_EQ(o->outcome->code, errc::ok) << o->outcome->detail;
    EXPECT_TRUE(p.sim.blocks_added_up());
    for (auto node : {prefill_node, decode_node}) {
      auto c = p.sim.blocks(node);
      EXPECT_EQ(c.leased + c.quarantined, 0U) << "node " << node;
      p.sim.forget_cached(node);
      EXPECT_EQ(p.sim.blocks(node).free, c.capacity) << "node " << node;
    }
    if (HasFailure())
      return;
  }
  std::printf("%s: %lu moments, %u cancelled, %u with tokens, prefill held blocks at %u, decode at "
              "%u, some were quarantined after %u messages\n",
              GetParam().name, messages + 1, cancelled, with_tokens, held_prefill, held_decode,
              quarantined);
  EXPECT_GT(cancelled, messages / 2);
  EXPECT_GT(with_tokens, 0U);
  EXPECT_GT(held_prefill, 0U);
  EXPECT_GT(held_decode, 0U);
}

INSTANTIATE_TEST_SUITE_P(
  lives, cancel,
  ::testing::Values(life{"alone", 0, 4, 32, {}},
                    life{"behind_slow_messages", 0, 4, 32, {0, 0, 100, 5'000}},
                    life{"waiting_for_a_row", 2, 1, 32, {}},
                    life{"waiting_for_blocks", 3, 4, 12, {}},
                    life{"while_messages_are_lost", 0, 4, 32, {30, 30, 0, 0}}),
  [](const auto& with) { return std::string{with.param.name}; });

} // namespace
} // namespace penstock::sim
