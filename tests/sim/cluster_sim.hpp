// A whole cluster in one thread: the real actors on virtual time, one seed.
//
// A gateway, a prefill and a decode node. The seed draws which actor runs next, what the network
// and the fabric do, and when; time moves only when nobody has anything to do. The same seed gives
// the same run, which trace() proves. Devices are oracle_devices: a mixed-up block changes the
// answer.
#pragma once

#include "actors/node.hpp"
#include "fabric/local_transport.hpp"
#include "gpu/prefix_cache.hpp"
#include "model/tokenizer.hpp"
#include "tests/sim/sim_network.hpp"
#include "tests/support/oracle_device.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::sim {

inline constexpr node_index gateway_node = 0;
inline constexpr node_index prefill_node = 1;
inline constexpr node_index decode_node = 2;

/// What every device of a simulation computes.
inline constexpr gpu::oracle_rules oracle{500, 2, 40, 2, 1, 8, 16};

struct sim_options {
  uint64_t seed = 1;
  network_faults network;
  uint32_t bad_reads = 0; ///< Of 1000 fabric reads, how many end badly.
  uint32_t prefill_blocks = 24;
  uint32_t decode_blocks = 32;
  uint32_t host_blocks = 12; ///< Of host memory, for each of the two; 0: none.
  uint32_t rows_max = 4;
  uint32_t step_tokens_max = 32;
  std::string decode_version = "sim"; ///< The others' is "sim".
};

/// What a client saw of one request.
struct client_view final : schema::token_sink {
  generate_request asked;
  time_us asked_at = 0;
  time_us ended_at = 0;
  request_id id = 0;
  std::vector<token_id> tokens;
  std::string text;
  std::optional<generate_outcome> outcome;
  uint32_t endings = 0;
  uint32_t pushes_after_end = 0;
  const clock* time = nullptr;

  void push(std::span<const generated_token> fresh, std::string_view text) override;
  void done(const generate_outcome& o) override;
};

class cluster_sim {
public:
  explicit cluster_sim(sim_options options);
  ~cluster_sim();

  std::shared_ptr<client_view> ask(std::vector<token_id> prompt, const sampling_params& sampling,
                                   uint64_t budget_us);
  std::shared_ptr<client_view> ask(generate_request what);
  void cancel(const client_view& who);
  /// A node's process dies: its actors, memory and connections are gone.
  void kill(node_index n);
  /// A killed node starts again, as a new incarnation.
  void start(node_index n);

  /// Runs until `us` of virtual time have passed.
  void run_for(uint64_t us);
  /// Runs until actors have handled `count` more messages, or `us_max` of virtual time have passed.
  void run_messages(uint64_t count, uint64_t us_max);
  /// Ends all faults of network and fabric.
  void heal();
  [[nodiscard]] sim_network& network() noexcept { return network_; }
  [[nodiscard]] rng& draws() noexcept { return draws_; }
  [[nodiscard]] const sim_clock& time() const noexcept { return time_; }
  [[nodiscard]] const model::tokenizer& tokenizer() const noexcept { return tokenizer_; }
  [[nodiscard]] gpu::block_counts blocks(node_index n) const;
  /// Since the node's last start.
  [[nodiscard]] gpu::prefix_cache_counts cache(node_index n) const;
  /// Clears its prefix cache.
  void forget_cached(node_index n);
  /// A hash over everything drawn and everything clients saw.
  [[nodiscard]] uint64_t trace() const noexcept { return trace_; }
  /// False once free + leased + cached + quarantined was not the capacity.
  [[nodiscard]] bool blocks_added_up() const noexcept { return blocks_added_up_; }

private:
  struct compute; // Memory, pool, device and transport of a node.
  struct machine {
    incarnation_id incarnation = 0;
    std::unique_ptr<compute> parts;
    std::unique_ptr<actors::node> node;
    std::unique_ptr<actors::gateway_service> service;
  };
  struct system_config : caf::actor_system_config {
    system_config() { set("scheduler.policy", caf::atom("testing")); }
  };

  void turn();
  void run_one_job();
  void deliver_one_read();
  void let_time_pass();
  void note(uint64_t what) noexcept { trace_ = mix64(trace_ ^ what); }
  actors::node_parts parts_of(node_index n, const schema::node_ref& me, compute* c);

  sim_options options_;
  rng draws_;
  sim_clock time_;
  sim_network network_;
  fabric::local_fabric fabric_;
  model::tokenizer tokenizer_;
  std::shared_ptr<const actors::guardrail_rules> rules_; // Shared: see guardrail_setup.
  system_config config_;
  caf::actor_system system_{config_};
  caf::scheduler::test_coordinator& jobs_;
  std::array<machine, 3> machines_;
  std::vector<std::shared_ptr<client_view>> clients_;
  uint64_t trace_ = 0;
  uint64_t messages_ = 0; ///< Handled by actors.
  bool blocks_added_up_ = true;
};

} // namespace penstock::sim
