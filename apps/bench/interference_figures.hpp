// What interference runs measured, and what follows from them. Plain arithmetic on records.
#pragma once

#include "apps/bench/arms.hpp"
#include "apps/bench/load_run.hpp"
#include "apps/bench/percentiles.hpp"

#include <map>
#include <string>
#include <vector>

namespace penstock::apps::bench {

/// Streams of an interference load.
inline constexpr uint32_t victim_stream = 0;
inline constexpr uint32_t long_stream = 1;

/// The goal: split's p99 over null's, beyond the null's own spread.
inline constexpr double null_factor_max = 1.10;

/// Lengths of the long prompts and their answers.
struct token_ratio {
  uint32_t prompt = 0;
  uint32_t output = 0;
  bool operator==(const token_ratio&) const = default;
};

/// One arm at one ratio in one round. Alone has no ratio.
struct arm_run {
  arm which = arm::alone;
  uint32_t round = 0;
  size_t ratio = 0;          ///< Index of the ratio; of no meaning alone.
  percentiles itl_ms;        ///< Victims' gaps that ended in the window.
  percentiles ttft_ms;       ///< Of long prompts due and begun in the window.
  double output_per_s = 0.0; ///< Tokens that came in the window, of victims and long prompts.
  double tokens_per_s = 0.0; ///< Those, and the prompts whose first token came in the window.
  double late_ms_p99 = 0.0;  ///< The generator's.
  std::map<std::string, uint64_t> failures; ///< By reason; being cut at the end is none.
};

/// @param from The window, in microseconds of the load's time: [from, to).
[[nodiscard]] arm_run measured(const load_result& result, time_us from, time_us to);

/// One figure over the rounds.
struct over_rounds {
  percentiles values;

  [[nodiscard]] double median() const { return values.median(); }
  [[nodiscard]] double quarter() const { return values.at(0.25); }
  [[nodiscard]] double three_quarters() const { return values.at(0.75); }
  [[nodiscard]] bool any() const { return values.count() > 0; }
};

/// @returns `figure` of the runs of an arm at a ratio, over the rounds. Alone is of every ratio.
[[nodiscard]] over_rounds collect(const std::vector<arm_run>& runs, arm which, size_t ratio,
                                  double (*figure)(const arm_run&));

/// What holds at a ratio. Absent arms make a claim false; `judged` says whether both were there.
struct verdict {
  double split_over_null = 0.0;  ///< Of median p99s.
  double split_over_alone = 0.0; ///< The same; 0 if alone was not run.
  double null_limit_ms = 0.0;    ///< null_factor_max times the null's upper quartile.
  bool undisturbed_judged = false;
  bool undisturbed = false; ///< Split's median p99 is at most null_limit_ms.
  bool compared_judged = false;
  bool split_below_colocated = false; ///< By median p99.
  bool colocated_faster = false;      ///< By median tokens_per_s.
};

[[nodiscard]] verdict judge(const std::vector<arm_run>& runs, size_t ratio);

/// One chunk budget tried for the colocated arm.
struct chunk_trial {
  uint32_t chunk_tokens = 0;
  double itl_ms_p99 = 0.0;
  double tokens_per_s = 0.0;
};

/// The best is the smallest p99 among those within a tenth of the highest tokens/s: the smallest
/// chunk alone would win every p99 by giving up throughput.
/// @param trials Not empty. @returns Its chunk.
[[nodiscard]] uint32_t best_chunk(const std::vector<chunk_trial>& trials);

} // namespace penstock::apps::bench
