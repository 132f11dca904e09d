#include "cluster/core_plan.hpp"
#include "cluster/default_config.hpp"
#include "cluster/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace penstock::cluster {
namespace {

using ::testing::HasSubstr;
using cores = std::vector<uint32_t>;

constexpr uint64_t mib = uint64_t{1} << 20U;

machine_facts machine(uint32_t count, uint64_t memory = 8192 * mib) {
  machine_facts m;
  m.cores.resize(count);
  std::iota(m.cores.begin(), m.cores.end(), 0U);
  m.memory_bytes = memory;
  m.host_name = "box";
  return m;
}

/// 4 layers, 2 KV heads of 32, f32: 2 KiB per token.
model_facts model(uint32_t context = 512) {
  return {"builtin", "0123456789abcdef0123", context, 4, 2, 32, 4, 8 * mib, 9 * mib};
}

cluster_config config(std::string_view text = default_cluster_toml()) {
  config_report r = parse_config(text, "c.toml");
  EXPECT_TRUE(r.config) << to_text(r.mistakes);
  return r.config.value_or(cluster_config{});
}

TEST(plan, default_cluster_fits_two_cores) {
  plan p = make_plan(config(), machine(2), model());
  EXPECT_TRUE(p.mistakes.empty()) << to_text(p.mistakes);
  EXPECT_TRUE(p.warnings.empty()) << to_text(p.warnings);
  ASSERT_EQ(p.nodes.size(), 3U);
  EXPECT_EQ(p.nodes[0].compute_cores, cores{});
  EXPECT_EQ(p.nodes[1].compute_cores, cores{1}); // Prefill shares the service core.
  EXPECT_EQ(p.nodes[2].compute_cores, cores{0}); // Decode has its own.
  for (const node_plan& n : p.nodes)
    EXPECT_EQ(n.service_core, 1U);
  EXPECT_EQ(p.nodes[1].kv_blocks, 64 * mib / (2048 * 16));
  EXPECT_EQ(p.nodes[1].kv_bytes, 64 * mib);
  EXPECT_EQ(p.nodes[1].weight_bytes, 8 * mib);
  EXPECT_EQ(p.nodes[2].weight_bytes, 9 * mib);
  EXPECT_EQ(p.memory_bytes_here, 3 * process_bytes + 2 * 64 * mib + 17 * mib);
}

TEST(plan, links_say_who_talks_to_whom_and_how_kv_moves) {
  plan p = make_plan(config(), machine(2), model());
  ASSERT_EQ(p.links.size(), 4U);
  EXPECT_EQ(p.kv_transport(1, 2), "mapped");
  EXPECT_EQ(p.kv_transport(2, 1), "");
  std::string spread = "[[node]]\nname = 'g'\nroles = ['gateway']\nlisten = '10.0.0.1:1'\n"
                       "rpc = '127.0.0.1:2'\n[[node]]\nname = 'p'\nroles = ['prefill']\n"
                       "listen = '10.0.0.1:3'\n[[node]]\nname = 'd'\nroles = ['decode']\n"
                       "listen = '10.0.0.2:3'\n";
  machine_facts here = machine(2);
  here.addresses = {"10.0.0.1"};
  plan q = make_plan(config(spread), here, model());
  EXPECT_EQ(q.kv_transport(1, 2), "tcp;ofi_rxm");
  EXPECT_TRUE(q.nodes[0].here);
  EXPECT_FALSE(q.nodes[2].here);
  EXPECT_EQ(q.memory_bytes_here, 2 * process_bytes + 64 * mib + 8 * mib);
  EXPECT_THAT(to_text(q), HasSubstr("in clear"));
}

TEST(plan, a_shared_gateway_and_prefill_node_links_once_with_decode) {
  plan p = make_plan(config("[[node]]\nname = 'a'\nlisten = '127.0.0.1:1'\nrpc = '127.0.0.1:2'\n"
                            "roles = ['gateway', 'prefill']\n[[node]]\nname = 'd'\n"
                            "listen = '127.0.0.1:3'\nroles = ['decode']\n"),
                     machine(2), model());
  ASSERT_EQ(p.links.size(), 2U);
  EXPECT_EQ(p.links[0].kind, link_kind::control);
  EXPECT_EQ(p.links[1].kind, link_kind::kv);
}

TEST(plan, says_who_shares_cached_prompts) {
  cluster_config c = config();
  EXPECT_THAT(to_text(make_plan(c, machine(2), model())), HasSubstr("shared by all"));
  c.tenants_apart = true;
  EXPECT_THAT(to_text(make_plan(c, machine(2), model())), HasSubstr("within a tenant only"));
}

TEST(plan, one_core_works_and_is_warned_of) {
  plan p = make_plan(config(), machine(1), model());
  EXPECT_TRUE(p.mistakes.empty());
  EXPECT_EQ(p.nodes[1].compute_cores, cores{0});
  EXPECT_EQ(p.nodes[2].compute_cores, cores{0});
  EXPECT_EQ(p.warnings.size(), 2U);
}

TEST(plan, more_cores_go_to_prefill_first) {
  plan p = make_plan(config(), machine(16), model());
  EXPECT_EQ(p.nodes[2].compute_cores, (cores{0, 1, 2, 3, 4}));
  EXPECT_EQ(p.nodes[1].compute_cores.size(), 10U);
  EXPECT_EQ(p.nodes[1].service_core, 15U);
}

TEST(plan, no_two_nodes_share_a_compute_core_while_there_are_enough) {
  for (uint32_t count = 2; count < 40; ++count) {
    cluster_config c = config();
    c.nodes.push_back(c.nodes[2]); // A second decode node.
    plan p = make_plan(c, machine(count), model());
    std::vector<uint32_t> users(count);
    for (const node_plan& n : p.nodes) {
      EXPECT_EQ(n.compute_cores.empty(), !n.roles.computes());
      for (uint32_t core : n.compute_cores)
        ++users.at(core);
    }
    EXPECT_LE(*std::max_element(users.begin(), users.end()), count >= 3 ? 1U : 2U) << count;
  }
}

TEST(plan, named_cores_are_kept_and_left_alone_by_others) {
  cluster_config c = config();
  c.nodes[2].compute_cores = {2};
  c.nodes[0].service_core = 0;
  plan p = make_plan(c, machine(4), model());
  EXPECT_EQ(p.nodes[2].compute_cores, cores{2});
  EXPECT_EQ(p.nodes[1].compute_cores, (cores{1, 3}));
  EXPECT_EQ(p.nodes[1].service_core, 0U);
}

TEST(plan, refuses_cores_the_machine_lacks) {
  cluster_config c = config();
  c.nodes[1].compute_cores = {4};
  c.nodes[2].service_core = 9;
  plan p = make_plan(c, machine(4), model());
  ASSERT_EQ(p.mistakes.size(), 2U);
  EXPECT_THAT(to_text(p.mistakes), HasSubstr("names core 4"));
  EXPECT_THAT(to_text(p.mistakes), HasSubstr("key \"service_core\" names core 9"));
}

TEST(plan, refuses_memory_the_machine_lacks_with_the_numbers) {
  cluster_config c = config();
  plan p = make_plan(c, machine(2, 200 * mib), model());
  ASSERT_EQ(p.mistakes.size(), 1U);
  EXPECT_THAT(to_text(p.mistakes), HasSubstr("need 289 MiB, it has 200 MiB"));
  plan tight = make_plan(c, machine(2, 300 * mib), model());
  EXPECT_TRUE(tight.mistakes.empty());
  EXPECT_EQ(tight.warnings.size(), 1U);
  c.nodes[1].kv_blocks = 0xffffffff; // Far beyond anything: numbers must not wrap.
  c.nodes[2].kv_memory_bytes = ~uint64_t{0};
  model_facts huge = model();
  huge.layers = 1000;
  huge.kv_heads = 10'000;
  huge.head_dim = 100'000;
  EXPECT_FALSE(make_plan(c, machine(2), huge).mistakes.empty());
}

TEST(plan, counts_the_host_cache_and_refuses_one_that_holds_no_block) {
  cluster_config c = config();
  auto without = make_plan(c, machine(2), model());
  c.nodes[1].host_cache_bytes = 100 * mib;
  auto with = make_plan(c, machine(2), model());
  EXPECT_TRUE(with.mistakes.empty()) << to_text(with.mistakes);
  EXPECT_EQ(with.nodes[1].host_cache_bytes, 100 * mib);
  EXPECT_EQ(with.memory_bytes_here, without.memory_bytes_here + 100 * mib);
  EXPECT_THAT(to_text(with), HasSubstr("100.0 MiB"));
  c.nodes[0].host_cache_bytes = 100 * mib; // A gateway has no pool that anything could leave.
  EXPECT_EQ(make_plan(c, machine(2), model()).memory_bytes_here, with.memory_bytes_here);
  c.nodes[1].host_cache_bytes = 1;
  EXPECT_THAT(to_text(make_plan(c, machine(2), model()).mistakes),
              HasSubstr("key \"host_cache\" is 1 MiB, less than one KV block"));
}

TEST(plan, refuses_a_pool_smaller_than_one_context) {
  cluster_config c = config();
  c.nodes[1].kv_blocks = 31;
  c.nodes[2].kv_blocks = 32; // 512 tokens exactly.
  plan p = make_plan(c, machine(2), model());
  ASSERT_EQ(p.mistakes.size(), 1U) << to_text(p.mistakes);
  EXPECT_THAT(to_text(p.mistakes),
              HasSubstr("key \"kv_blocks\" holds 496 tokens, one full context is 512; give it at "
                        "least 32 blocks"));
}

TEST(plan, text_is_aligned_and_narrow) {
  std::string text = to_text(make_plan(config(), machine(2), model()));
  EXPECT_THAT(text, HasSubstr("p0    prefill  1        1"));
  EXPECT_THAT(text, HasSubstr("p0    -->  d0  KV       mapped"));
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
    at = end + 1;
  }
}

TEST(machine, says_something_plausible_of_this_one) {
  machine_facts m = this_machine();
  EXPECT_FALSE(m.cores.empty());
  EXPECT_TRUE(std::is_sorted(m.cores.begin(), m.cores.end()));
  EXPECT_GT(m.memory_bytes, 64 * mib);
  EXPECT_FALSE(m.host_name.empty());
}

} // namespace
} // namespace penstock::cluster
