#include "cluster/config_sections.hpp"

#include "base/limits.hpp"

#include <algorithm>
#include <array>

namespace penstock::cluster {
namespace {

constexpr size_t path_bytes_max = 1024;
constexpr size_t pattern_bytes_max = 4096;
constexpr uint64_t day_ms = 24UL * 60 * 60 * 1000;
constexpr uint64_t gib = uint64_t{1} << 30U;

void read_cluster(const toml::table& table, cluster_config& config, findings& out) {
  table_reader in{table, "[cluster]", out};
  in.name("name", config.name);
  in.text("model", config.model, path_bytes_max);
  static constexpr std::array<std::string_view, 2> isolations{"none", "tenant"};
  if (auto isolation = in.choice("cache_isolation", isolations))
    config.tenants_apart = *isolation == 1;
  in.finish();
}

void read_device(table_reader& in, node_config& node) {
  std::string device = node.device;
  in.text("device", device, 32);
  if (device.starts_with("cuda"))
    in.wrong("device", "is " + in_quotes(device), R"("host")", "this release computes on the host");
  else if (device != "host")
    in.wrong("device", "is " + in_quotes(device), R"("host")");
}

void read_pool(table_reader& in, node_config& node) {
  in.number("kv_blocks", node.kv_blocks, 1, uint64_t{1} << 24U, "blocks");
  in.size("kv_memory", node.kv_memory_bytes, uint64_t{64} << 10U, 16 * 1024 * gib);
  in.size("host_cache", node.host_cache_bytes, 0, 16 * 1024 * gib);
  if (in.has("kv_blocks") && in.has("kv_memory"))
    in.wrong("kv_memory", "is given beside kv_blocks", {}, "keep one of the two");
  uint32_t tokens = node.block_tokens;
  in.number("block_tokens", tokens, 1, 1024, "tokens");
  if (tokens == 16 || tokens == 32 || tokens == 64)
    node.block_tokens = tokens;
  else
    in.wrong("block_tokens", "is " + std::to_string(tokens), "16, 32 or 64");
}

/// Keys that only some roles use: on another node they would silently do nothing.
void warn_unused(table_reader& in, const node_config& node) {
  for (std::string_view key :
       {"model", "device", "compute_cores", "kv_blocks", "kv_memory", "host_cache", "block_tokens"})
    if (in.has(key) && !node.roles.computes())
      in.warn(key, "has no effect", "this node neither prefills nor decodes");
  if (in.has("rows_max") && !node.roles.decode)
    in.warn("rows_max", "has no effect", "this node does not decode");
  if (in.has("step_tokens_max") && !node.roles.prefill)
    in.warn("step_tokens_max", "has no effect", "this node does not prefill");
}

void read_addresses(table_reader& in, node_config& node) {
  std::optional<endpoint> listen;
  in.address("listen", listen);
  if (listen)
    node.listen = *listen;
  else if (!in.has("listen"))
    in.missing("listen", R"(where the other nodes reach it, such as "127.0.0.1:7701")");
  if (listen && listen->is_wildcard())
    in.wrong("listen", "is " + in_quotes(listen->text()), {},
             "other nodes call this address: name the one they can reach");
  in.address("rpc", node.rpc);
  in.address("metrics", node.metrics);
  if (node.roles.empty())
    return; // Its roles were wrong; what follows depends on them.
  if (node.roles.gateway && !in.has("rpc"))
    in.missing("rpc", R"(where clients reach this gateway, such as "127.0.0.1:7600")");
  if (!node.roles.gateway && in.has("rpc"))
    in.wrong("rpc", "is given on a node that is no gateway", {}, "clients talk to gateways only");
}

/// A label for the machine a node is on, for the file that gives none.
std::string host_of(const endpoint& listen) {
  return listen.is_loopback() || listen.address.empty() ? "local" : listen.address;
}

node_config read_node(const toml::table& table, size_t index, const cluster_config& config,
                      findings& out) {
  static constexpr std::array<std::string_view, 3> role_names{"gateway", "prefill", "decode"};
  table_reader in{table, "node " + std::to_string(index + 1), out};
  node_config node;
  node.at = position_of(table.source());
  in.name("name", node.name);
  if (!node.name.empty())
    in.rename("node " + in_quotes(node.name));
  else if (!in.has("name"))
    in.missing("name", R"(a short name such as "p0")");
  for (size_t r : in.choices("roles", role_names))
    node.roles.add(static_cast<role>(r));
  if (!in.has("roles"))
    in.missing("roles", R"(["gateway"], ["prefill"] or ["decode"])");
  if (node.roles.prefill && node.roles.decode)
    in.wrong(
      "roles", "has prefill and decode together",
      R"(["gateway"], ["prefill"], ["decode"], ["gateway", "prefill"], ["gateway", "decode"])",
      "one node with both comes in a later release; `penstock run` does it in one process");
  read_addresses(in, node);
  node.model = config.model;
  in.text("model", node.model, path_bytes_max);
  node.host = host_of(node.listen);
  in.text("host", node.host, 64);
  read_device(in, node);
  in.numbers("compute_cores", node.compute_cores, 256, 4095);
  uint32_t service = 0;
  in.number("service_core", service, 0, 4095, "core id");
  if (in.has("service_core"))
    node.service_core = service;
  read_pool(in, node);
  in.number("rows_max", node.rows_max, 1, 1024, "rows");
  in.number("step_tokens_max", node.step_tokens_max, 1, 65536, "tokens");
  if (!node.roles.empty())
    warn_unused(in, node);
  in.finish();
  return node;
}

void read_fabric(const toml::table& table, fabric_config& fabric, findings& out) {
  table_reader in{table, "[fabric]", out};
  std::string transport = fabric.transport;
  in.text("transport", transport, 64);
  bool plain = std::all_of(transport.begin(), transport.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ';';
  });
  if (!plain || transport == "local")
    in.wrong("transport", "is " + in_quotes(transport),
             R"("auto", "mapped", "tcp;ofi_rxm" or another libfabric provider's name)",
             transport == "local" ? "\"local\" works within one process only" : "");
  else
    fabric.transport = transport;
  if (transport == "shm" || transport.starts_with("shm;"))
    in.warn("transport", "is \"shm\", which hangs after a crash in libfabric 1.17",
            "on one host \"mapped\" is faster and survives crashes");
  in.size("window_bytes", fabric.window_bytes, uint64_t{64} << 10U, gib);
  in.number("reads_max", fabric.reads_max, 1, 256, "reads");
  in.finish();
}

void read_rule(const toml::table& table, size_t index, std::vector<guardrail_rule>& rules,
               findings& out) {
  static constexpr std::array<std::string_view, 1> actions{"block"};
  table_reader in{table, "rule " + std::to_string(index + 1), out};
  guardrail_rule rule;
  rule.file = out.file;
  in.name("name", rule.name);
  if (!in.has("name"))
    in.missing("name", R"(a short name such as "no-keys")");
  else if (!rule.name.empty())
    in.rename("rule " + in_quotes(rule.name));
  in.text("pattern", rule.pattern, pattern_bytes_max);
  if (const auto* pattern = table.get("pattern"); pattern != nullptr)
    rule.at = position_of(pattern->source());
  else
    in.missing("pattern", "a regular expression in RE2 syntax");
  (void)in.choice("action", actions);
  if (std::any_of(rules.begin(), rules.end(),
                  [&rule](const guardrail_rule& r) { return r.name == rule.name; }))
    in.wrong("name", "is taken by an earlier rule", "a name of its own");
  in.finish();
  rules.push_back(std::move(rule));
}

void read_guardrail(const toml::table& table, guardrail_config& guardrail, findings& out) {
  static constexpr std::array<std::string_view, 2> policies{"block", "allow"};
  table_reader in{table, "[guardrail]", out};
  in.text("rules", guardrail.rules_path, path_bytes_max);
  auto rules = in.tables("rule", rules_max);
  if (in.has("rules") && in.has("rule"))
    in.wrong("rules", "is given beside [[guardrail.rule]]", {}, "keep one of the two");
  for (size_t i = 0; i < rules.size(); ++i)
    read_rule(*rules[i], i, guardrail.rules, out);
  in.number("budget_us", guardrail.budget_us, 1, 1'000'000, "microseconds");
  if (auto policy = in.choice("on_timeout", policies))
    guardrail.on_timeout = *policy == 0 ? timeout_policy::block : timeout_policy::allow;
  in.finish();
}

void read_admission(const toml::table& table, admission_config& admission, findings& out) {
  table_reader in{table, "[admission]", out};
  in.number("tokens_in_flight_max", admission.tokens_in_flight_max, 1, uint64_t{1} << 40U,
            "tokens");
  in.number("queue_max", admission.queue_max, 0, 1'000'000, "requests");
  in.number("queue_wait_ms_max", admission.queue_wait_ms_max, 0, 3'600'000, "milliseconds");
  in.finish();
}

void read_request(const toml::table& table, request_config& request, findings& out) {
  table_reader in{table, "[request]", out};
  in.number("budget_ms_max", request.budget_ms_max, 1, day_ms, "milliseconds");
  request.budget_ms_default = std::min(request.budget_ms_default, request.budget_ms_max);
  in.number("budget_ms_default", request.budget_ms_default, 1, day_ms, "milliseconds");
  if (request.budget_ms_default > request.budget_ms_max)
    in.wrong("budget_ms_default", "is " + std::to_string(request.budget_ms_default),
             "at most budget_ms_max, " + std::to_string(request.budget_ms_max));
  in.number("tokens_max", request.tokens_max, 1, limits::context_tokens_max, "tokens");
  in.finish();
}

void read_membership(const toml::table& table, membership_config& membership, findings& out) {
  table_reader in{table, "[membership]", out};
  in.number("heartbeat_ms", membership.heartbeat_ms, 10, 60'000, "milliseconds");
  in.number("dead_after_ms", membership.dead_after_ms, 20, 600'000, "milliseconds");
  if (membership.dead_after_ms < 2 * membership.heartbeat_ms)
    in.wrong(in.has("dead_after_ms") ? "dead_after_ms" : "heartbeat_ms",
             "makes one late heartbeat a death: dead_after_ms is "
               + std::to_string(membership.dead_after_ms) + ", heartbeat_ms "
               + std::to_string(membership.heartbeat_ms),
             "dead_after_ms of at least two heartbeats");
  in.finish();
}

void read_restart(const toml::table& table, restart_config& restart, findings& out) {
  table_reader in{table, "[restart]", out};
  in.number("backoff_ms_min", restart.backoff_ms_min, 1, 600'000, "milliseconds");
  restart.backoff_ms_max = std::max(restart.backoff_ms_max, restart.backoff_ms_min);
  in.number("backoff_ms_max", restart.backoff_ms_max, 1, 600'000, "milliseconds");
  if (restart.backoff_ms_max < restart.backoff_ms_min)
    in.wrong("backoff_ms_max", "is " + std::to_string(restart.backoff_ms_max),
             "at least backoff_ms_min, " + std::to_string(restart.backoff_ms_min));
  in.number("burst", restart.burst, 0, 1000, "restarts within 60 s");
  in.finish();
}

void read_log(const toml::table& table, log::level& level, findings& out) {
  static constexpr std::array<std::string_view, 4> levels{"error", "warn", "info", "debug"};
  table_reader in{table, "[log]", out};
  if (auto index = in.choice("level", levels))
    level = static_cast<log::level>(*index);
  in.finish();
}

} // namespace

void read_sections(const toml::table& root, cluster_config& config, findings& out) {
  table_reader in{root, "top level", out};
  if (const auto* table = in.table("cluster"))
    read_cluster(*table, config, out);
  auto nodes = in.tables("node", nodes_max);
  for (size_t i = 0; i < nodes.size(); ++i)
    config.nodes.push_back(read_node(*nodes[i], i, config, out));
  if (const auto* table = in.table("fabric"))
    read_fabric(*table, config.fabric, out);
  if (const auto* table = in.table("admission"))
    read_admission(*table, config.admission, out);
  if (const auto* table = in.table("request"))
    read_request(*table, config.request, out);
  if (const auto* table = in.table("guardrail"))
    read_guardrail(*table, config.guardrail, out);
  if (const auto* table = in.table("membership"))
    read_membership(*table, config.membership, out);
  if (const auto* table = in.table("restart"))
    read_restart(*table, config.restart, out);
  if (const auto* table = in.table("log"))
    read_log(*table, config.log_level, out);
  in.finish();
}

void read_rules_file(const toml::table& root, std::vector<guardrail_rule>& rules, findings& out) {
  table_reader in{root, "top level", out};
  auto tables = in.tables("rule", rules_max);
  if (!in.has("rule"))
    in.missing("rule", "tables [[rule]] with name and pattern");
  for (size_t i = 0; i < tables.size(); ++i)
    read_rule(*tables[i], i, rules, out);
  in.finish();
}

} // namespace penstock::cluster
