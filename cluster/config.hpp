// The cluster file: one struct, and one parser that reports every mistake at once.
//
// Checks what the file alone can show; what needs the machine or the model is plan.hpp's. Knows no
// other folder: an address here is text with a port, a regex is text. docs/cluster_file.md lists
// every key. Invariant: a config handed out has no mistakes.
#pragma once

#include "base/log.hpp"
#include "cluster/endpoint.hpp"
#include "cluster/mistake.hpp"
#include "cluster/roles.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

inline constexpr size_t config_bytes_max = size_t{1} << 20U; ///< Of the file, and of a rules file.
inline constexpr size_t nodes_max = 64;
inline constexpr size_t rules_max = 256;
inline constexpr std::string_view model_builtin = "builtin";

struct node_config {
  std::string name;                     ///< Unique; [a-z0-9_-], 1..32 bytes.
  role_set roles;                       ///< At least one.
  std::string model;                    ///< "builtin" or a Hugging Face directory.
  std::string host;                     ///< Label of the machine it runs on.
  endpoint listen;                      ///< Where other nodes reach it.
  std::optional<endpoint> rpc;          ///< Clients; gateways only, where it is required.
  std::optional<endpoint> metrics;      ///< Prometheus text over HTTP; absent: not served.
  std::string device = "host";          ///< What computes.
  std::vector<uint32_t> compute_cores;  ///< Core ids; empty: the plan chooses.
  std::optional<uint32_t> service_core; ///< Core id; absent: the plan chooses.
  uint32_t kv_blocks = 0;               ///< Blocks of the pool; 0: from kv_memory_bytes.
  uint64_t kv_memory_bytes = uint64_t{64} << 20U; ///< Size of the pool if kv_blocks is 0.
  uint64_t host_cache_bytes = 0;  ///< For what leaves the pool, in [0, 16 TiB]; 0: nothing is kept.
  uint32_t block_tokens = 16;     ///< Tokens per block: 16, 32 or 64.
  uint32_t rows_max = 16;         ///< Rows decoded at once, in [1, 1024].
  uint32_t step_tokens_max = 256; ///< Prompt tokens per prefill step, in [1, 65536].
  position at;                    ///< Where the file says so.
};

struct fabric_config {
  std::string transport = "auto";             ///< "auto", "mapped", or a libfabric provider.
  uint64_t window_bytes = uint64_t{4} << 20U; ///< Bytes in flight per peer, [64 KiB, 1 GiB].
  uint32_t reads_max = 8;                     ///< Reads in flight per peer, in [1, 256].
};

struct admission_config {
  uint64_t tokens_in_flight_max = 65536; ///< Prompt + tokens_max of all requests, [1, 2^40].
  uint32_t queue_max = 256;              ///< Requests that wait, in [0, 1000000].
  uint32_t queue_wait_ms_max = 10'000;   ///< Longest wait, in [0, 3600000].
};

struct request_config {
  uint32_t budget_ms_default = 60'000; ///< If the client names none; <= budget_ms_max.
  uint32_t budget_ms_max = 600'000;    ///< Longest a client may ask for, in [1, 86400000].
  uint32_t tokens_max = 4096;          ///< Generated tokens per request, in [1, 2^20].
};

struct guardrail_rule {
  std::string name;    ///< Unique; [a-z0-9_-], 1..32 bytes.
  std::string pattern; ///< Regular expression, 1..4096 bytes; compiled by its user.
  std::string file;    ///< Where the pattern is, for whoever finds it does not compile.
  position at;
};

enum class timeout_policy : uint8_t { block, allow };

struct guardrail_config {
  std::string rules_path; ///< File of [[rule]] tables; load_config() reads it into `rules`.
  std::vector<guardrail_rule> rules;
  uint32_t budget_us = 2000; ///< Time per inspection, in [1, 1000000].
  timeout_policy on_timeout = timeout_policy::block;
};

struct membership_config {
  uint32_t heartbeat_ms = 250;   ///< Between two heartbeats, in [10, 60000].
  uint32_t dead_after_ms = 1500; ///< Silence that means death; >= 2 heartbeats, <= 600000.
};

struct restart_config {
  uint32_t backoff_ms_min = 100;  ///< Before the first restart, in [1, 600000].
  uint32_t backoff_ms_max = 5000; ///< Doubles up to this; >= backoff_ms_min.
  uint32_t burst = 5;             ///< Restarts of one node within 60 s before giving up, [0, 1000].
};

struct cluster_config {
  std::string file; ///< As it was opened; for messages.
  std::string name = "penstock";
  std::string model{model_builtin}; ///< Of every node that names none.
  bool tenants_apart = false;       ///< Tenants share no cached prefixes: cache_isolation.
  std::vector<node_config> nodes;   ///< In file order: a node's index is its node_index.
  fabric_config fabric;
  admission_config admission;
  request_config request;
  guardrail_config guardrail;
  membership_config membership;
  restart_config restart;
  log::level log_level = log::level::info;

  /// @returns The index of the node with this name; nodes.size() if there is none.
  [[nodiscard]] size_t find(std::string_view node_name) const noexcept;
};

struct config_report {
  std::optional<cluster_config> config; ///< Present if, and only if, there is no mistake.
  std::vector<mistake> mistakes;        ///< In file order, at most mistakes_max.
  std::vector<mistake> warnings;        ///< The file works, but its author should know.
};

/// Parses the text of a cluster file. Reads no other file: guardrail.rules_path is only recorded.
/// @param text Any bytes; more than config_bytes_max is one mistake.
/// @param file Name for messages.
[[nodiscard]] config_report parse_config(std::string_view text, std::string_view file);

/// Reads and parses `path`, and the rules file it names (relative to the folder of `path`).
[[nodiscard]] config_report load_config(const std::string& path);

} // namespace penstock::cluster
