#include "cluster/config.hpp"
#include "cluster/default_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace penstock::cluster {
namespace {

using ::testing::HasSubstr;

// Lines of the three nodes that every test below changes a little.
constexpr std::string_view gateway = "[[node]]\nname = 'g0'\nroles = ['gateway']\n"
                                     "listen = '127.0.0.1:1'\nrpc = '127.0.0.1:2'\n";
constexpr std::string_view prefill
  = "[[node]]\nname = 'p0'\nroles = ['prefill']\nlisten = '127.0.0.1:3'\n";
constexpr std::string_view decode
  = "[[node]]\nname = 'd0'\nroles = ['decode']\nlisten = '127.0.0.1:4'\n";

std::string with(std::string_view more_gateway, std::string_view more_prefill = {},
                 std::string_view more_decode = {}, std::string_view end = {}) {
  std::string out;
  for (auto part : {gateway, more_gateway, prefill, more_prefill, decode, more_decode, end})
    out.append(part).append("\n");
  return out;
}

config_report parse(std::string_view text) {
  return parse_config(text, "cluster.toml");
}

/// The text of the only mistake in `text`.
std::string one_mistake(std::string_view text) {
  config_report r = parse(text);
  EXPECT_FALSE(r.config);
  EXPECT_EQ(r.mistakes.size(), 1U) << to_text(r.mistakes);
  return to_text(r.mistakes);
}

TEST(config, default_file_has_no_mistake_and_no_warning) {
  config_report r = parse(default_cluster_toml());
  ASSERT_TRUE(r.config) << to_text(r.mistakes);
  EXPECT_TRUE(r.warnings.empty()) << to_text(r.warnings);
  const cluster_config& c = *r.config;
  ASSERT_EQ(c.nodes.size(), 3U);
  EXPECT_EQ(c.model, model_builtin);
  EXPECT_EQ(c.nodes[0].rpc->text(), "127.0.0.1:7600");
  EXPECT_TRUE(c.nodes[1].roles.prefill);
  EXPECT_EQ(c.find("d0"), 2U);
  EXPECT_EQ(c.find("nobody"), 3U);
}

TEST(config, commented_defaults_of_the_default_file_are_the_defaults) {
  std::string text{default_cluster_toml()};
  // Uncomment `# key = value`, but not the cores, which name what a machine may lack.
  for (size_t at = 0; (at = text.find("\n# ", at)) != std::string::npos; ++at) {
    std::string_view line = std::string_view{text}.substr(at + 3);
    line = line.substr(0, line.find('\n'));
    bool key = line.find(" = ") != std::string_view::npos && line.find("rules") == line.npos;
    if (key && line.find("core") == line.npos)
      text.erase(at + 1, 2);
  }
  config_report shown = parse(text);
  config_report plain = parse(default_cluster_toml());
  ASSERT_TRUE(shown.config) << to_text(shown.mistakes);
  ASSERT_TRUE(plain.config);
  const cluster_config& a = *shown.config;
  const cluster_config& b = *plain.config;
  EXPECT_EQ(a.nodes[1].step_tokens_max, b.nodes[1].step_tokens_max);
  EXPECT_EQ(a.nodes[1].block_tokens, b.nodes[1].block_tokens);
  EXPECT_EQ(a.nodes[2].rows_max, b.nodes[2].rows_max);
  EXPECT_EQ(a.fabric.window_bytes, b.fabric.window_bytes);
  EXPECT_EQ(a.fabric.reads_max, b.fabric.reads_max);
  EXPECT_EQ(a.admission.tokens_in_flight_max, b.admission.tokens_in_flight_max);
  EXPECT_EQ(a.admission.queue_max, b.admission.queue_max);
  EXPECT_EQ(a.admission.queue_wait_ms_max, b.admission.queue_wait_ms_max);
  EXPECT_EQ(a.request.budget_ms_default, b.request.budget_ms_default);
  EXPECT_EQ(a.request.budget_ms_max, b.request.budget_ms_max);
  EXPECT_EQ(a.request.tokens_max, b.request.tokens_max);
  EXPECT_EQ(a.guardrail.budget_us, b.guardrail.budget_us);
  EXPECT_EQ(a.guardrail.on_timeout, b.guardrail.on_timeout);
  EXPECT_EQ(a.membership.heartbeat_ms, b.membership.heartbeat_ms);
  EXPECT_EQ(a.membership.dead_after_ms, b.membership.dead_after_ms);
  EXPECT_EQ(a.restart.backoff_ms_min, b.restart.backoff_ms_min);
  EXPECT_EQ(a.restart.backoff_ms_max, b.restart.backoff_ms_max);
  EXPECT_EQ(a.restart.burst, b.restart.burst);
  EXPECT_EQ(a.log_level, b.log_level);
}

TEST(config, reads_every_key) {
  config_report r = parse(
    with("metrics = '[::1]:5'\nhost = 'a'", "kv_blocks = 7\nhost = 'a'",
         "kv_memory = '3MiB'\nhost_cache = '5MiB'\nblock_tokens = 64\ncompute_cores = [2, 0]\n"
         "service_core = 1\nrows_max = 3\ndevice = 'host'\nhost = 'a'",
         "[guardrail]\nbudget_us = 9\non_timeout = 'allow'\n"
         "[[guardrail.rule]]\nname = 'r'\npattern = 'x+'\n"
         "[fabric]\ntransport = 'verbs;ofi_rxm'\n[log]\nlevel = 'debug'"));
  ASSERT_TRUE(r.config) << to_text(r.mistakes);
  const cluster_config& c = *r.config;
  EXPECT_EQ(c.nodes[0].metrics->text(), "[::1]:5");
  EXPECT_EQ(c.nodes[1].kv_blocks, 7U);
  EXPECT_EQ(c.nodes[2].kv_memory_bytes, 3U << 20U);
  EXPECT_EQ(c.nodes[2].host_cache_bytes, 5U << 20U);
  EXPECT_EQ(c.nodes[1].host_cache_bytes, 0U); // Off unless asked for.
  EXPECT_EQ(c.nodes[2].block_tokens, 64U);
  EXPECT_EQ(c.nodes[2].compute_cores, (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(c.nodes[2].service_core, 1U);
  EXPECT_EQ(c.nodes[2].rows_max, 3U);
  EXPECT_EQ(c.nodes[2].host, "a");
  EXPECT_EQ(c.guardrail.budget_us, 9U);
  EXPECT_EQ(c.guardrail.on_timeout, timeout_policy::allow);
  ASSERT_EQ(c.guardrail.rules.size(), 1U);
  EXPECT_EQ(c.guardrail.rules[0].pattern, "x+");
  EXPECT_EQ(c.fabric.transport, "verbs;ofi_rxm");
  EXPECT_EQ(c.log_level, log::level::debug);
}

TEST(config, keeps_tenants_apart_only_if_told) {
  auto isolated
    = [](const std::string& line) { return parse("[cluster]\n" + line + "\n" + with("", "", "")); };
  EXPECT_FALSE(isolated("").config->tenants_apart);
  EXPECT_FALSE(isolated("cache_isolation = 'none'").config->tenants_apart);
  EXPECT_TRUE(isolated("cache_isolation = 'tenant'").config->tenants_apart);
  auto wrong = isolated("cache_isolation = 'all'");
  EXPECT_FALSE(wrong.config);
  EXPECT_THAT(to_text(wrong.mistakes), HasSubstr("cache_isolation"));
  EXPECT_THAT(to_text(wrong.mistakes), HasSubstr("tenant"));
}

TEST(config, reports_every_mistake_at_once_in_file_order) {
  config_report r = parse("[cluster]\nname = 5\n[[node]]\nname = 'g0'\nrole = ['gateway']\n"
                          "listen = 'example.org:1'\n[admision]\n[request]\ntokens_max = -1\n");
  EXPECT_FALSE(r.config);
  std::string text = to_text(r.mistakes);
  ASSERT_EQ(r.mistakes.size(), 6U) << text;
  EXPECT_THAT(text, HasSubstr("cluster.toml:2:8: [cluster]: key \"name\" is 5; allowed: 1..32"));
  EXPECT_THAT(text, HasSubstr("node \"g0\": key \"roles\" is missing"));
  EXPECT_THAT(text, HasSubstr("cluster.toml:5:1: node \"g0\": key \"role\" is unknown; "
                              "did you mean \"roles\"? allowed: name, roles, listen"));
  EXPECT_THAT(text, HasSubstr("names are not resolved"));
  EXPECT_THAT(text, HasSubstr("key \"admision\" is unknown; did you mean \"admission\"?"));
  EXPECT_THAT(text, HasSubstr("key \"tokens_max\" is -1; allowed: an integer in 1..1048576"));
  for (size_t i = 1; i < r.mistakes.size(); ++i)
    EXPECT_LE(r.mistakes[i - 1].at.line, r.mistakes[i].at.line);
}

TEST(config, names_each_role_that_is_missing) {
  config_report r = parse(gateway);
  std::string text = to_text(r.mistakes);
  EXPECT_EQ(r.mistakes.size(), 2U) << text;
  EXPECT_THAT(text, HasSubstr("has no node with the role \"prefill\""));
  EXPECT_THAT(text, HasSubstr("has no node with the role \"decode\""));
  EXPECT_THAT(one_mistake(""), HasSubstr("has no [[node]]"));
}

TEST(config, refuses_two_nodes_on_one_port) {
  EXPECT_THAT(one_mistake(with("", "metrics = '127.0.0.1:2'")),
              HasSubstr("which collides with rpc of node \"g0\""));
  EXPECT_THAT(one_mistake(with("metrics = 'localhost:2'")),
              HasSubstr("key \"metrics\" is \"127.0.0.1:2\", which collides with rpc"));
  EXPECT_THAT(one_mistake(with("metrics = '0.0.0.0:4'")), HasSubstr("collides with metrics"));
  EXPECT_TRUE(parse(with("metrics = '127.0.0.2:4'")).config);
}

TEST(config, refuses_what_this_release_cannot_run) {
  std::string both = std::string{gateway} + "[[node]]\nname = 'x'\nlisten = '127.0.0.1:9'\n"
                     + "roles = ['prefill', 'decode']\n";
  EXPECT_THAT(one_mistake(both), HasSubstr("later release"));
  EXPECT_THAT(one_mistake(with("", "device = 'cuda:0'")), HasSubstr("computes on the host"));
  EXPECT_THAT(one_mistake(with("tls_certificate = 'a.pem'")), HasSubstr("TLS between nodes"));
  EXPECT_THAT(one_mistake(with("", "", "", "[fabric]\ntransport = 'local'")),
              HasSubstr("within one process"));
}

TEST(config, a_gateway_may_share_a_node_with_prefill_or_decode) {
  std::string text = "[[node]]\nname = 'a'\nlisten = '127.0.0.1:1'\nrpc = '127.0.0.1:2'\n"
                     "roles = ['gateway', 'prefill']\n"
                     + std::string{decode};
  config_report r = parse(text);
  ASSERT_TRUE(r.config) << to_text(r.mistakes);
  EXPECT_EQ(r.config->nodes[0].roles.text(), "gateway+prefill");
}

TEST(config, refuses_different_models_on_prefill_and_decode) {
  EXPECT_THAT(one_mistake(with("", "model = '/m/a'")),
              HasSubstr("is \"builtin\", but node \"p0\" runs \"/m/a\""));
  EXPECT_TRUE(parse(with("", "model = '/m/a'", "model = '/m/a'")).config);
}

TEST(config, refuses_names_cores_and_pools_that_clash) {
  EXPECT_THAT(one_mistake(std::string{gateway} + "[[node]]\nname = 'g0'\nroles = ['prefill']\n"
                          + "listen = '127.0.0.1:3'\n" + std::string{decode}),
              HasSubstr("is taken by the node at line 1"));
  EXPECT_THAT(one_mistake(with("", "compute_cores = [1, 0]", "compute_cores = [0]")),
              HasSubstr("has core 0, on which node \"p0\" computes"));
  EXPECT_THAT(one_mistake(with("", "compute_cores = [1, 1]")), HasSubstr("names 1 twice"));
  EXPECT_THAT(one_mistake(with("", "kv_blocks = 9\nkv_memory = '1MiB'")),
              HasSubstr("keep one of the two"));
  EXPECT_THAT(one_mistake(with("", "block_tokens = 20")), HasSubstr("16, 32 or 64"));
  EXPECT_THAT(one_mistake(with("", "rpc = '127.0.0.1:8'")), HasSubstr("is no gateway"));
}

TEST(config, checks_pairs_of_limits) {
  EXPECT_THAT(one_mistake(with("", "", "", "[membership]\nheartbeat_ms = 1000")),
              HasSubstr("one late heartbeat a death"));
  EXPECT_THAT(one_mistake(with("", "", "", "[restart]\nbackoff_ms_min = 9\nbackoff_ms_max = 8")),
              HasSubstr("at least backoff_ms_min, 9"));
  EXPECT_THAT(one_mistake(with("", "", "", "[request]\nbudget_ms_default = 9\nbudget_ms_max = 8")),
              HasSubstr("at most budget_ms_max, 8"));
  config_report low = parse(with("", "", "", "[request]\nbudget_ms_max = 8"));
  ASSERT_TRUE(low.config) << to_text(low.mistakes);
  EXPECT_EQ(low.config->request.budget_ms_default, 8U);
}

TEST(config, nodes_on_two_hosts_need_addresses_and_no_mapped_memory) {
  EXPECT_THAT(to_text(parse(with("host = 'a'", "host = 'a'", "host = 'b'")).mistakes),
              HasSubstr("which nodes on other hosts cannot reach"));
  std::string text = "[[node]]\nname = 'g'\nroles = ['gateway']\nlisten = '10.0.0.1:1'\n"
                     "rpc = '127.0.0.1:2'\n[[node]]\nname = 'p'\nroles = ['prefill']\n"
                     "listen = '10.0.0.1:3'\n[[node]]\nname = 'd'\nroles = ['decode']\n"
                     "listen = '10.0.0.2:3'\n";
  config_report r = parse(text);
  ASSERT_TRUE(r.config) << to_text(r.mistakes);
  EXPECT_EQ(r.warnings.size(), 3U); // One per address that leaves the machine.
  EXPECT_THAT(to_text(r.warnings), HasSubstr("in clear"));
  EXPECT_THAT(one_mistake(text + "[fabric]\ntransport = 'mapped'\n"),
              HasSubstr("works on one host"));
}

TEST(config, warns_of_keys_without_effect) {
  config_report r = parse(with("kv_blocks = 4", "rows_max = 4", "step_tokens_max = 4"));
  ASSERT_TRUE(r.config) << to_text(r.mistakes);
  EXPECT_EQ(r.warnings.size(), 3U) << to_text(r.warnings);
}

TEST(config, guardrail_rules_are_named_once_and_block) {
  std::string rule = "[[guardrail.rule]]\nname = 'a'\npattern = 'x'\n";
  EXPECT_THAT(one_mistake(with("", "", "", rule + rule)), HasSubstr("taken by an earlier rule"));
  EXPECT_THAT(one_mistake(with("", "", "", rule + "action = 'log'\n")), HasSubstr("\"block\""));
  EXPECT_THAT(one_mistake(with("", "", "", "[[guardrail.rule]]\nname = 'a'\n")),
              HasSubstr("key \"pattern\" is missing"));
}

TEST(config, text_that_is_no_toml_is_one_mistake_with_its_line) {
  EXPECT_THAT(one_mistake("[cluster]\nname = \n"), HasSubstr("cluster.toml:2:"));
  EXPECT_THAT(one_mistake(std::string_view{"\0\xff\xfe", 3}), HasSubstr("not valid TOML"));
  EXPECT_THAT(one_mistake(std::string(config_bytes_max + 1, '#')), HasSubstr("larger than 1 MiB"));
}

TEST(config, brackets_without_a_key_are_a_mistake) {
  for (std::string_view text : {"[=", "[.]", "[[=]]", "[[ ,", "[", "[[", "[a.=]", "x = {= 1}"})
    EXPECT_THAT(one_mistake(text), HasSubstr("cluster.toml:1:")) << text;
}

TEST(config, deep_keys_are_refused_before_they_nest) {
  std::string deep = "a";
  for (int i = 0; i < 200'000; ++i)
    deep += ".a";
  EXPECT_THAT(one_mistake(deep + " = 1\n"), HasSubstr("too many dots"));
  EXPECT_THAT(one_mistake("# comment\n[" + deep + "]\n"), HasSubstr("cluster.toml:2:1"));
  EXPECT_THAT(one_mistake("x = {" + deep + " = 1}\n"), HasSubstr("too many dots"));
  // Dots in text are nobody's key.
  EXPECT_TRUE(
    parse(with("", "", "",
               "[[guardrail.rule]]\nname = 'a'\npattern = '''.........'.'...'''\n"
               "[[guardrail.rule]]\nname = 'b'\npattern = \"..........\\\"....\" # ....\n"))
      .config);
}

TEST(config, foreign_text_in_messages_is_short_and_printable) {
  std::string text = one_mistake(with("", "\"" + std::string(500, 'k') + "\\u001b[31m\" = 1"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_LT(text.size(), 600U);
}

TEST(config, reports_at_most_a_hundred_mistakes) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text.append("k").append(std::to_string(i)).append(" = 1\n");
  EXPECT_EQ(parse(text).mistakes.size(), mistakes_max);
}

class config_file : public ::testing::Test {
protected:
  config_file() {
    dir_ = std::filesystem::path{::testing::TempDir()}
           / (std::string{"penstock_"}
              + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(dir_);
  }
  ~config_file() override { std::filesystem::remove_all(dir_); }

  std::string write(const std::string& name, std::string_view text) {
    std::ofstream{dir_ / name} << text;
    return (dir_ / name).string();
  }

  std::filesystem::path dir_;
};

TEST_F(config_file, loads_rules_beside_the_file) {
  write("rules.toml", "[[rule]]\nname = 'keys'\npattern = 'AKIA[0-9A-Z]{16}'\n");
  auto path = write("c.toml", with("", "", "", "[guardrail]\nrules = 'rules.toml'"));
  config_report r = load_config(path);
  ASSERT_TRUE(r.config) << to_text(r.mistakes);
  ASSERT_EQ(r.config->guardrail.rules.size(), 1U);
  EXPECT_EQ(r.config->guardrail.rules[0].name, "keys");
  EXPECT_THAT(r.config->guardrail.rules[0].file, HasSubstr("rules.toml"));
}

TEST_F(config_file, mistakes_in_the_rules_file_name_that_file) {
  write("rules.toml", "[[rule]]\nname = 'keys'\npatern = 'x'\n");
  config_report r
    = load_config(write("c.toml", with("", "", "", "[guardrail]\nrules = 'rules.toml'")));
  EXPECT_FALSE(r.config);
  EXPECT_THAT(to_text(r.mistakes), HasSubstr("rules.toml:3:1: rule \"keys\": key \"patern\""));
}

TEST_F(config_file, what_cannot_be_read_is_one_clear_mistake) {
  auto text = [](const std::string& path) { return to_text(load_config(path).mistakes); };
  EXPECT_THAT(text((dir_ / "none.toml").string()), HasSubstr("none.toml: does not exist"));
  EXPECT_THAT(text(dir_.string()), HasSubstr("is not a regular file"));
  EXPECT_THAT(text(write("c.toml", with("", "", "", "[guardrail]\nrules = 'none.toml'"))),
              HasSubstr("none.toml: does not exist"));
  EXPECT_THAT(text(write("big.toml", std::string(config_bytes_max + 1, '#'))),
              HasSubstr("larger than 1 MiB"));
}

} // namespace
} // namespace penstock::cluster
