// Two compute nodes under faults, checked against the rules of docs/architecture.md.
#include "tests/sim/cluster_sim.hpp"
#include "tests/sim/wanted_answer.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

namespace penstock::sim {
namespace {

constexpr uint64_t budget_us = 6'000'000;

enum class fault : uint8_t {
  none,
  network,
  cut_one_way,
  bad_reads,
  prefill_dies,
  decode_dies,
  cancels,
  all
};

struct scenario {
  const char* name;
  fault what;
};

void PrintTo(const scenario& s, std::ostream* out) {
  *out << s.name;
}

sim_options options_for(uint64_t seed, fault what) {
  sim_options o;
  o.seed = seed;
  o.host_blocks = seed % 3 * 8;
  if (what == fault::network || what == fault::all)
    o.network = {20, 30, 60, 200'000};
  if (what == fault::bad_reads || what == fault::all)
    o.bad_reads = 100;
  return o;
}

/// What may be drawn to go wrong while requests run.
void disturb(cluster_sim& sim, fault what, std::vector<std::shared_ptr<client_view>>& clients) {
  auto& draw = sim.draws();
  auto either = [&](fault f) { return what == f || (what == fault::all && draw.below(3) == 0); };
  if (either(fault::cut_one_way)) {
    auto from = static_cast<node_index>(draw.below(3));
    sim.network().cut(from, static_cast<node_index>((from + 1 + draw.below(2)) % 3),
                      draw.below(2) == 0);
  }
  if (either(fault::cancels) && !clients.empty())
    sim.cancel(*clients[draw.below(clients.size())]);
  for (auto [f, node] :
       {std::pair{fault::prefill_dies, prefill_node}, std::pair{fault::decode_dies, decode_node}})
    if (either(f) && draw.below(4) == 0) {
      sim.kill(node);
      sim.run_for(draw.below(2'500'000)); // Shorter and longer than it takes to be noticed.
      sim.start(node);
    }
}

/// Half of the requests are greedy.
sampling_params sampling_of(rng& draw) {
  sampling_params s;
  s.tokens_max = static_cast<uint32_t>(1 + draw.below(40));
  if (draw.below(2) == 0)
    return s;
  s.temperature = 0.8F;
  s.seed = draw.next();
  s.top_k = static_cast<uint32_t>(draw.below(50));
  s.top_p = 1.0F - draw.unit();
  s.min_p = draw.unit();
  s.repetition_penalty = draw.below(2) == 0 ? 1.0F : 1.2F;
  s.tokens_min = static_cast<uint32_t>(draw.below(uint64_t{s.tokens_max} + 1));
  for (auto count = draw.below(9); count > 0; --count)
    s.stop_ids.push_back(static_cast<token_id>(3 + draw.below(490)));
  return s;
}

/// A third have stop strings, of texts that tokens have; some are of a tenant or have a salt.
generate_request request_of(cluster_sim& sim, std::vector<token_id> prompt) {
  auto& draw = sim.draws();
  generate_request r;
  r.prompt_ids = std::move(prompt);
  r.sampling = sampling_of(draw);
  r.budget_us = budget_us;
  r.priority = static_cast<priority_class>(draw.below(3));
  if (draw.below(4) == 0)
    r.cache_salt = draw.below(2) == 0 ? "a" : "b";
  if (draw.below(3) == 0)
    for (auto count = 1 + draw.below(3); count > 0; --count) {
      const token_id some[]
        = {static_cast<token_id>(3 + draw.below(490)), static_cast<token_id>(3 + draw.below(490))};
      auto text = sim.tokenizer().decode(std::span{some}.first(1 + draw.below(2)));
      if (!text.empty())
        r.stop_strings.push_back(std::move(text));
    }
  return r;
}

std::vector<std::shared_ptr<client_view>> run(cluster_sim& sim, fault what) {
  std::vector<std::shared_ptr<client_view>> clients;
  auto& draw = sim.draws();
  sim.run_for(600'000); // Until the nodes know each other.
  for (int i = 0; i < 16; ++i) {
    std::vector<token_id> prompt(1 + draw.below(100));
    for (auto& id : prompt)
      id = static_cast<token_id>(3 + draw.below(490));
    if (!clients.empty() && draw.below(2) == 0) { // Begins like an earlier one.
      const auto& like = clients[draw.below(clients.size())]->asked.prompt_ids;
      std::copy_n(like.begin(), std::min(like.size(), prompt.size()) * (1 + draw.below(2)) / 2,
                  prompt.begin());
    }
    clients.push_back(sim.ask(request_of(sim, std::move(prompt))));
    sim.run_for(draw.below(100'000));
    disturb(sim, what, clients);
  }
  sim.heal();
  sim.run_for(budget_us + 1'000'000); // Past every deadline, and the sweeps after it.
  return clients;
}

void expect_rules(const cluster_sim& sim, const std::vector<std::shared_ptr<client_view>>& all) {
  for (const auto& c : all) {
    ASSERT_EQ(c->endings, 1u) << "rule 1 or 9";
    EXPECT_EQ(c->pushes_after_end, 0u);
    EXPECT_LE(c->ended_at, c->asked_at + budget_us + 200'000) << "rule 6";
    auto want = wanted(oracle, sim.tokenizer(), c->asked);
    ASSERT_LE(c->tokens.size(), want.tokens.size());
    EXPECT_TRUE(std::equal(c->tokens.begin(), c->tokens.end(), want.tokens.begin()))
      << "rule 3: a token that no undisturbed node would have given";
    EXPECT_EQ(c->outcome->usage.completion_tokens, c->tokens.size());
    const auto& u = c->outcome->usage;
    EXPECT_EQ(u.computed_tokens + u.cached_tokens, u.prompt_tokens) << "rule 5";
    auto reason = c->outcome->reason;
    auto code = c->outcome->code;
    EXPECT_TRUE(code == errc::ok || code == errc::cancelled || code == errc::deadline_exceeded
                || is_retryable(code))
      << "rule 8: blamed on the caller: " << c->outcome->detail;
    if (reason == finish_reason::stop || reason == finish_reason::length) {
      EXPECT_EQ(c->tokens.size(), want.tokens.size());
      EXPECT_EQ(c->text, want.text);
      EXPECT_TRUE(!want.stopped || reason == finish_reason::stop);
      EXPECT_EQ(u.prompt_tokens, c->asked.prompt_ids.size());
    }
  }
  EXPECT_TRUE(sim.blocks_added_up()) << "rule 2";
  for (auto n : {prefill_node, decode_node}) {
    auto c = sim.blocks(n);
    EXPECT_EQ(c.free + c.cached, c.capacity)
      << "rule 2, node " << n << ": leased " << c.leased << " quarantined " << c.quarantined;
  }
}

class sim_scenarios : public ::testing::TestWithParam<scenario> {};

/// Seeds each scenario runs with: fixed ones, more with PENSTOCK_SIM_SEEDS, one fresh.
std::vector<uint64_t> seeds() {
  const auto* many = std::getenv("PENSTOCK_SIM_SEEDS");
  uint64_t count = many != nullptr ? std::strtoull(many, nullptr, 10) : 20;
  std::vector<uint64_t> all;
  for (uint64_t s = 1; s <= count; ++s)
    all.push_back(s);
  if (const auto* one = std::getenv("PENSTOCK_SIM_SEED"))
    return {std::strtoull(one, nullptr, 10)};
  all.push_back(std::random_device{}());
  return all;
}

/// What became of requests, so that a scenario that tests nothing shows.
struct tally {
  uint32_t asked = 0, complete = 0, resumed = 0, cancelled = 0, hit = 0;
  uint64_t from_host = 0;

  void add(const std::vector<std::shared_ptr<client_view>>& all) {
    for (const auto& c : all) {
      ++asked;
      complete += c->outcome->code == errc::ok ? 1 : 0;
      resumed += c->outcome->code == errc::ok && c->outcome->placement.attempts > 1 ? 1 : 0;
      hit += c->outcome->usage.cached_tokens > 0 ? 1 : 0;
      cancelled += c->outcome->reason == finish_reason::cancelled ? 1 : 0;
    }
  }
};

TEST_P(sim_scenarios, keep_the_rules) {
  tally sum;
  for (auto seed : seeds()) {
    SCOPED_TRACE("replay with PENSTOCK_SIM_SEED=" + std::to_string(seed));
    cluster_sim sim{options_for(seed, GetParam().what)};
    auto clients = run(sim, GetParam().what);
    expect_rules(sim, clients);
    if (HasFailure())
      return;
    sum.add(clients);
    for (auto n : {prefill_node, decode_node}) {
      auto did = sim.cache(n);
      EXPECT_LE(did.host_bytes, did.host_bytes_max);
      sum.from_host += did.hit_host;
    }
  }
  std::printf(
    "%s: %u requests, %u complete, %u of them after a retry, %u cancelled, %u hit a cache, "
    "%llu blocks from host memory\n",
    GetParam().name, sum.asked, sum.complete, sum.resumed, sum.cancelled, sum.hit,
    static_cast<unsigned long long>(sum.from_host));
}

INSTANTIATE_TEST_SUITE_P(faults, sim_scenarios,
                         ::testing::Values(scenario{"none", fault::none},
                                           scenario{"network", fault::network},
                                           scenario{"cut_one_way", fault::cut_one_way},
                                           scenario{"bad_reads", fault::bad_reads},
                                           scenario{"prefill_dies", fault::prefill_dies},
                                           scenario{"decode_dies", fault::decode_dies},
                                           scenario{"cancels", fault::cancels},
                                           scenario{"all", fault::all}),
                         [](const auto& with) { return std::string{with.param.name}; });

TEST(sim, without_faults_every_answer_is_complete) {
  cluster_sim sim{options_for(1, fault::none)};
  for (const auto& c : run(sim, fault::none)) {
    ASSERT_TRUE(c->outcome.has_value());
    EXPECT_EQ(c->outcome->code, errc::ok) << c->outcome->detail;
    EXPECT_EQ(c->outcome->placement.attempts, 1u);
  }
}

TEST(sim, a_prefix_that_left_both_pools_comes_back_from_host_memory) {
  sim_options tight;
  tight.prefill_blocks = tight.decode_blocks = 12;
  tight.host_blocks = 40;
  cluster_sim sim{tight};
  sampling_params sampling;
  sampling.tokens_max = 4;
  auto ask = [&](token_id first) {
    std::vector<token_id> prompt(70);
    std::iota(prompt.begin(), prompt.end(), first);
    auto c = sim.ask(prompt, sampling, budget_us);
    sim.run_for(budget_us);
    EXPECT_EQ(c->tokens, gpu::oracle_answer(oracle, prompt, sampling));
    return c->outcome->usage;
  };
  for (token_id first : {10, 110, 210, 310})
    EXPECT_EQ(ask(first).cached_tokens, 0u);
  EXPECT_EQ(sim.cache(decode_node).hit_host, 0u);
  EXPECT_EQ(ask(10).cached_tokens, 64u);
  EXPECT_EQ(sim.cache(decode_node).hit_host, 4u);
}

TEST(sim, a_node_of_another_version_is_not_used_and_the_refusal_says_so) {
  auto options = options_for(1, fault::none);
  options.decode_version = "sim+wire9";
  cluster_sim sim{options};
  auto clients = run(sim, fault::none);
  for (const auto& c : clients) {
    ASSERT_TRUE(c->outcome.has_value());
    EXPECT_EQ(c->outcome->code, errc::unavailable);
    EXPECT_EQ(c->outcome->reason, finish_reason::refused);
    EXPECT_NE(c->outcome->detail.find("version: sim+wire9 is not sim"), std::string::npos)
      << c->outcome->detail;
    EXPECT_TRUE(c->tokens.empty());
  }
}

TEST(sim, a_seed_replays_exactly) {
  auto trace = [](uint64_t seed) {
    cluster_sim sim{options_for(seed, fault::all)};
    (void)run(sim, fault::all);
    return sim.trace();
  };
  auto first = trace(7);
  EXPECT_EQ(first, trace(7));
  EXPECT_NE(first, trace(8));
}

} // namespace
} // namespace penstock::sim
