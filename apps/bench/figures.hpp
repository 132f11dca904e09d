// The figures of a load, from its records. docs/benchmarking.md says what each means.
#pragma once

#include "apps/bench/load_run.hpp"
#include "apps/bench/percentiles.hpp"

#include <cstdint>
#include <map>
#include <string>

namespace penstock::apps::bench {

/// What a request must keep to count as good. Milliseconds; 0: anything will do.
struct service_goal {
  double ttft_ms = 0.0; ///< Due to first token.
  double itl_ms = 0.0;  ///< Each gap between two tokens.
  double tpot_ms = 0.0; ///< The mean gap.

  [[nodiscard]] bool any() const { return ttft_ms > 0.0 || itl_ms > 0.0 || tpot_ms > 0.0; }
};

struct failure_count {
  uint64_t count = 0;
  std::string detail; ///< Of the first, as the server said it.
};

/// Latencies in milliseconds, of counted requests that are what was asked for.
struct figures {
  uint64_t requests = 0; ///< Counted, failed ones included.
  uint64_t warmup = 0;
  uint64_t cut = 0; ///< Counted ones that were shortened to fit the context.
  std::map<std::string, failure_count> failures; ///< By reason; warm-ups that failed are in it too.
  double window_s = 0.0; ///< First counted due to last counted end: what rates are per.

  percentiles ttft_ms;
  percentiles itl_ms;
  percentiles tpot_ms;
  percentiles e2e_ms;

  uint64_t completed = 0; ///< As asked for.
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t output_tokens = 0;
  uint64_t good = 0; ///< Completed and within the goal.

  percentiles late_ms;          ///< Of every request sent: due to sent, the generator's own fault.
  double generator_cores = 0.0; ///< Of one core, on average, that this process took.

  [[nodiscard]] double per_second(uint64_t count) const {
    return window_s > 0.0 ? static_cast<double>(count) / window_s : 0.0;
  }
  [[nodiscard]] uint64_t failed() const;
  /// @returns Why the figures are the generator's rather than the server's; empty if they are not.
  [[nodiscard]] std::string generator_warning() const;
};

/// A request is sent late if it is past due by more than this. Sleeping on a busy machine costs a
/// little; TTFT of a loaded server is longer by far.
inline constexpr double late_ms_max = 5.0;

[[nodiscard]] figures figures_of(const load_result& result, const service_goal& goal);

/// @returns The gaps between a request's tokens, in milliseconds. Tokens that came together are 0
/// apart.
[[nodiscard]] std::vector<double> gaps_ms(const request_record& record);

} // namespace penstock::apps::bench
