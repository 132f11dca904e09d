// What was seen of one request, and whether it is what was asked for.
#pragma once

#include "base/clock.hpp"
#include "base/request.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::apps::bench {

/// Times are microseconds since the load's start.
struct request_record {
  uint32_t stream = 0;        ///< Which of the load's streams it belongs to.
  uint64_t index = 0;         ///< Within its stream.
  bool counted = true;        ///< False: a warm-up.
  bool cut = false;           ///< By the context; see planned_request.
  uint32_t prompt_tokens = 0; ///< Asked; 0: not known.
  uint32_t output_tokens = 0; ///< Asked.
  time_us due = 0;
  time_us sent = 0;            ///< When the client's thread sent it.
  std::vector<time_us> tokens; ///< When each came.
  uint32_t endings = 0;        ///< Must become 1.
  uint32_t late_tokens = 0;    ///< Came after the end; must stay 0.
  time_us ended = 0;
  generate_outcome outcome;
};

/// @returns Why it is not what was asked for, in words that are few and the same for the same
///   reason: "overloaded", "wrong token count"; empty if all is well.
[[nodiscard]] std::string failure_of(const request_record& record);

} // namespace penstock::apps::bench
