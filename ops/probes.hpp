// What each actor reports: a probe per actor, an event per method. Times in, as everywhere, in µs.
//
// Probes only count; they decide nothing. All metric names are in probes.cpp, what they mean in
// runbook.md. A default-made probe counts nowhere. Cheap, and callable from any thread; copies
// count into the same series.
#pragma once

#include "base/request.hpp"
#include "ops/kv_probes.hpp"
#include "ops/metrics.hpp"
#include "ops/node_probe.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::ops {

/// Why generated text waits before a client gets it.
enum class hold_reason : uint8_t { utf8, stop_string };
/// Why generated tokens were given to nobody.
enum class discard_reason : uint8_t {
  stop_string, ///< They have a part in a stop string, or came after it.
  late,        ///< They came after their request had ended.
};

/// Used by gateway and session.
struct session_probe {
  /// A session was started. Each is followed by exactly one ended().
  void accepted() const;
  /// Refused before a session was started.
  void refused(errc why) const;
  /// The session's one ending: reason, times, tokens by origin, attempts.
  void ended(const generate_outcome& outcome) const;
  /// Time since the token before, for every generated token but the first.
  void token_gap(uint64_t took_us) const {
    inter_token_.observe(static_cast<double>(took_us) * 1e-6);
  }

  /// Text was held back and is no longer.
  void held(hold_reason why, uint64_t took_us) const {
    held_[static_cast<size_t>(why)].observe(static_cast<double>(took_us) * 1e-6);
  }
  /// Tokens that came from decode and are in no usage.
  void discarded(discard_reason why, size_t tokens) const {
    discarded_[static_cast<size_t>(why)].add(static_cast<double>(tokens));
  }

  counter accepted_;
  gauge open_;
  std::array<counter, 7> ended_;    ///< By finish_reason.
  std::array<counter, 48> refused_; ///< By errc.
  std::array<counter, 48> failed_;  ///< By errc.
  histogram first_token_, inter_token_, duration_, queue_;
  std::array<histogram, 2> held_;                                  ///< By hold_reason.
  std::array<counter, 2> discarded_;                               ///< By discard_reason.
  histogram admission_, guardrail_, prefill_, transfer_, exposed_; ///< Stages.
  counter computed_, cached_, completion_, transferred_, recomputed_, attempts_;
};

struct admission_probe {
  void admitted() const { admitted_.add(); }
  void refused(errc why) const;
  /// After each change: requests that wait, and the tokens of all requests inside.
  void load(uint64_t waiting, uint64_t tokens_in_flight) const;

  counter admitted_;
  std::array<counter, 48> refused_; ///< By errc.
  gauge waiting_, in_flight_;
};

enum class verdict_outcome : uint8_t { allow, redact, block, timeout };

struct guardrail_probe {
  void judged(verdict_outcome outcome, uint64_t took_us) const;

  std::array<counter, 4> verdicts_;
  histogram time_;
};

struct prefill_probe {
  void queued(uint64_t tokens) const { queued_.set(static_cast<double>(tokens)); }
  /// One device step ended. @param tokens Prompt tokens it computed.
  void stepped(uint32_t tokens, uint64_t took_us) const;

  gauge queued_;
  counter steps_, computed_;
  histogram chunk_, time_;
};

struct decode_probe {
  void running(uint32_t rows) const { running_.set(rows); }
  /// One device step ended. @param idle_us The device waited before it.
  void stepped(uint32_t rows, uint64_t took_us, uint64_t idle_us) const;
  /// Tokens computed past an end, a stop or a cancel: in nobody's usage.
  void discarded(uint32_t tokens) const { discarded_.add(tokens); }

  gauge running_;
  counter steps_, idle_, discarded_;
  histogram batch_, time_;
};

/// All probes of one node. Made once, before the actors.
struct probes {
  probes() = default; ///< Counts nowhere.
  /// @param registry Outlives every copy.
  probes(metrics& registry, const node_identity& self);

  session_probe session;
  admission_probe admission;
  guardrail_probe guardrail;
  prefill_probe prefill;
  decode_probe decode;
  pool_probe prefill_pool, decode_pool;
  node_probe node;
  /// @param name "mapped", "tcp;ofi_rxm", ...; one per configured transport.
  [[nodiscard]] transfer_probe transfer(std::string_view name) const;

private:
  metrics* registry_ = nullptr;
};

} // namespace penstock::ops
