// What `penstock bench interference` is to do, as the command line says it.
#pragma once

#include "apps/bench/interference_figures.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::apps::bench {

struct interference_options {
  std::string model; ///< Empty: a random one of `parameters`, made for this run.
  std::string parameters = "100M";
  std::vector<std::string> ratios{"512:8", "512:64", "128:128"};
  std::vector<std::string> arms{"alone", "null", "split", "colocated"};
  std::vector<uint32_t> chunks{64, 128, 256, 512}; ///< Tried for the colocated arm.
  uint32_t prefill_chunk = 256;                    ///< Of the split arm.
  uint32_t rounds = 7;
  double seconds = 10.0; ///< Of measuring, per run.
  uint32_t victims = 4;
  double period_ms = 0.0; ///< Between long prompts of the first ratio; 0: measured.
  uint64_t seed = 1;
};

/// The same, with its texts understood.
struct interference_plan {
  interference_options options;
  uint64_t parameters = 0;
  std::vector<token_ratio> ratios;
  std::vector<arm> arms; ///< Each once.

  [[nodiscard]] bool has(arm a) const;
  /// @returns True if one of the arms runs on the split cluster.
  [[nodiscard]] bool has_split_cluster() const;
  /// @returns Seconds before the window: victims begin, and nothing is measured.
  [[nodiscard]] double settle_s() const;
  /// @returns The longest prompt with its answer, in tokens.
  [[nodiscard]] uint32_t long_tokens_max() const;
};

/// @param text "512:64": prompt tokens, answer tokens.
[[nodiscard]] result<token_ratio> parse_ratio(std::string_view text);

/// @returns errc::invalid_argument naming the option and its range.
[[nodiscard]] result<interference_plan> understood(const interference_options& options);

} // namespace penstock::apps::bench
