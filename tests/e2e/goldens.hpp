// The committed greedy runs of ../shared/models/tinystories-656k.
#pragma once

#include <string>
#include <vector>

namespace penstock::e2e {

struct golden_case {
  std::string prompt;
  std::string prompt_ids;          ///< As --prompt-ids takes them.
  std::string tokens_max;          ///< As --max-tokens takes it.
  std::vector<unsigned> generated; ///< Without the end-of-sequence id.
  bool stops = false;              ///< Else it was cut at its length.
};

/// Empty if the folder is not there.
std::vector<golden_case> golden_cases();

} // namespace penstock::e2e
