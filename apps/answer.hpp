// What a command got for a prompt, and the two ways it is shown: one JSON object for scripts, a
// table of stages for people. The JSON is a contract; add to it, change nothing.
#pragma once

#include "base/request.hpp"

#include <string>
#include <vector>

namespace penstock::apps {

struct answer {
  std::vector<generated_token> tokens; ///< Without the end-of-sequence token.
  std::string text;                    ///< UTF-8.
  generate_outcome outcome;
  std::vector<uint64_t> arrivals_us; ///< When each token reached us, after the request was sent.
};

/// @returns One line: token_ids, logprobs, text, finish_reason, exact, top_logprobs if there are
/// any, usage, timings, placement, and error if the outcome is not ok.
[[nodiscard]] std::string to_json(const answer& a);

/// @returns `{"token_ids":[...]}`.
[[nodiscard]] std::string to_json(const std::vector<token_id>& ids);

/// @returns A table of where the time went, several lines, each with a newline.
[[nodiscard]] std::string stage_table(const answer& a);

/// @returns True if the outcome is an answer, complete or cut at its length.
[[nodiscard]] bool succeeded(const generate_outcome& outcome) noexcept;

} // namespace penstock::apps
