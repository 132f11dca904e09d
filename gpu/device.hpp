// What the schedulers ask of a device: run steps over a paged KV pool, sample, say when done.
//
// A device executes; it decides nothing. Steps run in the order submitted; at most
// limits::steps_queued_max are unfinished at once. A row has a *slot*: device state that lives
// across steps, holding the row's last sampled token, so that step n+1 can be submitted before the
// host has seen step n's tokens. Implementations: host_device (cores), oracle_device (tests), and a
// CUDA one, for which submit() returns at once and `done` comes from a thread of its own.
#pragma once

#include "base/result.hpp"
#include "gpu/draw_rules.hpp"
#include "gpu/kv_layout.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace penstock::gpu {

/// One row's part in a step.
struct row_run {
  uint32_t slot = 0;     ///< In [0, row_slots). A slot appears once per step.
  uint32_t position = 0; ///< Absolute position of the first token fed.
  /// Tokens to feed. Empty: one token, the slot's last sampled one.
  std::vector<token_id> tokens;
  /// Block table for positions [0, position + tokens fed); the step writes KV into its tail.
  std::vector<uint32_t> blocks;
  bool sample = false; ///< Sample after the last token fed, into the slot and the output.
  draw_rules rules;    ///< How to sample.
  /// With a repetition penalty: all tokens of the row so far, those fed included. Given in its
  /// first sampling step and kept with the slot, which adds what it samples. Else empty.
  std::vector<token_id> seen;
  std::vector<token_id> barred; ///< Ids not to sample in this step.

  /// @returns Tokens fed, >= 1.
  [[nodiscard]] uint32_t count() const noexcept {
    return tokens.empty() ? 1U : static_cast<uint32_t>(tokens.size());
  }
};

struct step {
  uint64_t number = 0; ///< Ascending; comes back in the output.
  std::vector<row_run> rows;
};

struct sampled_token {
  uint32_t slot = 0;
  generated_token token;
};

struct step_output {
  uint64_t number = 0;
  errc code = errc::ok; ///< device_failed: no row of the step may be believed.
  std::string detail;
  std::vector<sampled_token> sampled; ///< In the order of the step's sampling rows.
  uint64_t compute_us = 0;            ///< Time the device spent in the step.
  uint64_t idle_us = 0;               ///< Time it had nothing to run before this step.
  uint64_t logits_hash = 0;           ///< Of the sampled rows' logits; equal bits, equal hash.
};

struct device_limits {
  uint32_t row_slots = 0;       ///< Rows at once.
  uint32_t step_tokens_max = 0; ///< Tokens fed in one step, over all rows.
  uint32_t context_max = 0;     ///< Positions a row may have.
};

class device {
public:
  using done_handler = std::function<void(step_output)>;

  virtual ~device() = default;

  /// Runs a step. `done` is called exactly once, in submission order, from this call or from a
  /// thread of the device; it must only hand the output on.
  /// @pre The step keeps to limits(); fewer than limits::steps_queued_max are unfinished.
  virtual void submit(step work, done_handler done) = 0;

  [[nodiscard]] virtual const device_limits& limits() const noexcept = 0;
  [[nodiscard]] virtual const kv_layout& layout() const noexcept = 0;

  /// The pool's bytes where a transport can reach them, layout().pool_bytes() long. Only blocks
  /// that no unfinished step touches may be read or written.
  [[nodiscard]] virtual std::span<std::byte> pool() noexcept = 0;

  /// Names everything that decides the bits of KV and logits: instruction path's arithmetic, the
  /// numerics page's version, KV dtype. Equal ids on equal weights give equal bits.
  [[nodiscard]] virtual std::string numerics_id() const = 0;
};

} // namespace penstock::gpu
