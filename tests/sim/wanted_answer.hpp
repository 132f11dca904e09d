// What a request must get from a simulated cluster, found plainly: the oracle's answer, and where a
// stop string cuts it. Shares no code with the session's hold-back buffer.
#pragma once

#include "base/request.hpp"
#include "model/detokenizer.hpp"
#include "tests/support/oracle_device.hpp"

#include <optional>
#include <string>
#include <vector>

namespace penstock::sim {

struct wanted_answer {
  std::vector<token_id> tokens;
  std::string text;
  bool stopped = false; ///< By a stop string.
};

/// @returns Where the first stop string to be complete begins in `text`; of several, the longest.
inline std::optional<size_t> cut_of(const std::vector<std::string>& stops,
                                    const std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const auto& stop : stops)
      if (std::string_view{text}.substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    if (longest > 0)
      return end - longest;
  }
  return std::nullopt;
}

inline wanted_answer wanted(const gpu::oracle_rules& rules, const model::tokenizer& tokens,
                            const generate_request& asked) {
  wanted_answer out;
  out.tokens = gpu::oracle_answer(rules, asked.prompt_ids, asked.sampling);
  model::detokenizer text{tokens};
  text.skip(asked.prompt_ids);
  std::vector<size_t> ends; // Of the text each token has a part in.
  for (auto id : out.tokens) {
    out.text += text.push(id);
    ends.push_back(out.text.size() + (text.is_mid_character() ? 1 : 0));
  }
  out.text += text.flush();
  if (auto cut = cut_of(asked.stop_strings, out.text)) {
    out.stopped = true;
    out.text.resize(*cut);
    size_t kept = 0;
    while (kept < ends.size() && ends[kept] <= *cut)
      ++kept;
    out.tokens.resize(kept);
  }
  return out;
}

} // namespace penstock::sim
