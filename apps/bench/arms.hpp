// The clusters that `penstock bench interference` compares, as cluster files. Two cores each.
//
// split:     decode alone on one core; prefill, and everything that is not the model (RPC, copies,
//            digests, this command), on the other.
// colocated: one device on both cores computes prompts, in chunks, where it decodes; everything
//            else runs on the second core too.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::apps::bench {

/// alone and null are loads of the split cluster: victims only, and the long prompts' answers
/// without long prompts.
enum class arm : uint8_t { alone = 0, null = 1, split = 2, colocated = 3 };

inline constexpr arm arms_all[] = {arm::alone, arm::null, arm::split, arm::colocated};

[[nodiscard]] std::string name_of(arm a);

struct arm_layout {
  std::string model; ///< A directory, or "builtin".
  uint32_t decode_core = 0;
  uint32_t service_core = 1;
  uint32_t chunk_tokens = 256; ///< Prompt tokens per step: of prefill, or mixed with decode rows.
  uint64_t kv_bytes = 0;       ///< Of each pool.
  uint32_t rows_max = 32;
  std::vector<uint16_t> ports; ///< arm_ports of them.
};

inline constexpr size_t arm_ports = 4;

struct arm_cluster {
  std::string text;               ///< The cluster file.
  std::vector<std::string> nodes; ///< Their names.
  std::string address;            ///< Where the gateway takes requests.
};

[[nodiscard]] arm_cluster cluster_of(arm a, const arm_layout& layout);

} // namespace penstock::apps::bench
