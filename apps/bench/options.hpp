// What a load is to be, as the command line says it, and the stream that makes it so.
#pragma once

#include "apps/bench/figures.hpp"
#include "apps/bench/load_run.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>

namespace penstock::apps::bench {

inline constexpr uint64_t requests_max = 1'000'000; ///< Each is remembered to the end.
inline constexpr uint32_t concurrency_max = 4096;
inline constexpr double rate_max = 100'000.0;

/// Zero or empty: not given.
struct load_options {
  uint32_t concurrency = 0; ///< Closed loop with that many open.
  double rate = 0.0;        ///< Open loop, Poisson, requests per second.

  std::string prompts; ///< File of one prompt per line.
  std::string trace;   ///< File of a trace; its own times are kept if no other loop is asked for.
  double trace_scale = 1.0; ///< Of the trace's lengths.
  double trace_speed = 1.0; ///< Of the trace's time: 2 is twice as fast.
  uint32_t prompt_tokens = 128;
  uint32_t output_tokens = 64;
  uint32_t shared_prefix_tokens = 0;
  uint32_t vocabulary = 256;

  uint64_t requests = 0; ///< Counted ones; warm-ups come on top.
  double duration_s = 0.0;
  uint64_t warmup = 0;
  uint64_t seed = 1;
  uint64_t budget_ms = 60'000;
  service_goal goal;

  /// @returns "closed", "open" or "trace".
  [[nodiscard]] std::string loop() const;
  /// @returns "synthetic", "trace" or "prompts".
  [[nodiscard]] std::string source() const;
};

/// Completes what was not given: a closed loop of 4, 100 requests.
/// @returns errc::invalid_argument that names the options that do not go together, or the range.
[[nodiscard]] result<load_options> checked(load_options options);

/// Reads the files named.
/// @param options From checked(). @param context Of the server's model, in tokens.
/// @returns errc::io_failed, errc::malformed, or errc::invalid_argument.
[[nodiscard]] result<load_stream> stream_of(const load_options& options, uint32_t context);

} // namespace penstock::apps::bench
