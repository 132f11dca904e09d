#include "cluster/default_config.hpp"

namespace penstock::cluster {
namespace {

constexpr std::string_view default_text
  = R"(# Penstock cluster file: three processes on this machine, and the model that ships with it.
# `penstock check FILE` explains every mistake and prints the plan; docs/cluster_file.md lists
# every key. What is commented out is the default.

[cluster]
name = "penstock"
model = "builtin"             # or the path of a Hugging Face directory (Llama family)
# cache_isolation = "none"    # or "tenant": tenants share no cached prompts

[[node]]                      # Where clients come in.
name = "g0"
roles = ["gateway"]
listen = "127.0.0.1:7700"     # other nodes
rpc = "127.0.0.1:7600"        # clients
metrics = "127.0.0.1:7690"    # Prometheus: http://127.0.0.1:7690/metrics

[[node]]                      # Reads prompts: large steps, computes their KV cache.
name = "p0"
roles = ["prefill"]
listen = "127.0.0.1:7701"
metrics = "127.0.0.1:7691"
kv_memory = "64MiB"           # or kv_blocks = 1024
# host_cache = "256MiB"       # keeps prefixes that leave the pool; 0 by default
# device = "host"
# compute_cores = [1]         # the plan chooses cores; name them to decide yourself
# service_core = 1
# block_tokens = 16
# step_tokens_max = 256       # prompt tokens per step

[[node]]                      # Writes answers: small steps, pulls the KV cache from prefill.
name = "d0"
roles = ["decode"]
listen = "127.0.0.1:7702"
metrics = "127.0.0.1:7692"
kv_memory = "64MiB"
# rows_max = 16               # answers written at once

[fabric]                      # How KV moves from prefill to decode.
transport = "auto"            # "mapped" on one host, else "tcp;ofi_rxm"
# window_bytes = "4MiB"
# reads_max = 8

[admission]
# tokens_in_flight_max = 65536
# queue_max = 256
# queue_wait_ms_max = 10000

[request]
# budget_ms_default = 60000
# budget_ms_max = 600000
# tokens_max = 4096

[guardrail]
# rules = "rules.toml"        # or [[guardrail.rule]] tables here: name, pattern
# budget_us = 2000
# on_timeout = "block"

[membership]
# heartbeat_ms = 250
# dead_after_ms = 1500

[restart]
# backoff_ms_min = 100
# backoff_ms_max = 5000
# burst = 5

[log]
# level = "info"
)";

} // namespace

std::string_view default_cluster_toml() noexcept {
  return default_text;
}

} // namespace penstock::cluster
