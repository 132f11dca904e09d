// Generated tokens as the lists a push and a row of `tokens` both have: ids, logprobs, topIds,
// topLogprobs. Private to schema/.
//
// The likeliest tokens lie flat, as many for each id as for every other.
#pragma once

#include "base/check.hpp"
#include "base/request.hpp"
#include "schema/request_check.hpp"

#include <cmath>
#include <span>
#include <vector>

namespace penstock::schema {

/// @returns Bytes the lists take.
[[nodiscard]] inline size_t token_lists_bytes(std::span<const generated_token> tokens) {
  return tokens.empty() ? 0 : tokens.size() * 8 * (1 + tokens.front().top.size());
}

/// @param tokens Each with as many `top`.
/// @param into A builder that has the four lists.
template <class Builder>
void write_token_lists(std::span<const generated_token> tokens, Builder into) {
  auto count = static_cast<unsigned>(tokens.size());
  auto ids = into.initIds(count);
  auto logprobs = into.initLogprobs(count);
  for (unsigned i = 0; i < count; ++i) {
    ids.set(i, tokens[i].id);
    logprobs.set(i, tokens[i].logprob);
  }
  auto each = tokens.empty() ? 0U : static_cast<unsigned>(tokens.front().top.size());
  if (each == 0)
    return;
  auto top_ids = into.initTopIds(count * each);
  auto top_logprobs = into.initTopLogprobs(count * each);
  for (unsigned i = 0; i < count; ++i) {
    PS_CHECK(tokens[i].top.size() == each);
    for (unsigned k = 0; k < each; ++k) {
      top_ids.set(i * each + k, tokens[i].top[k].id);
      top_logprobs.set(i * each + k, tokens[i].top[k].logprob);
    }
  }
}

/// Reads and checks what write_token_lists() wrote.
/// @returns What is wrong, to follow "a row" or "a push"; null if nothing.
template <class Reader>
[[nodiscard]] const char* read_token_lists(Reader from, size_t count_max,
                                           std::vector<generated_token>& out) {
  auto ids = from.getIds();
  auto logprobs = from.getLogprobs();
  auto top_ids = from.getTopIds();
  auto top_logprobs = from.getTopLogprobs();
  if (ids.size() != logprobs.size())
    return "has ids without logprobs";
  if (ids.size() > count_max)
    return "has too many tokens";
  auto each = ids.size() == 0 ? 0U : top_ids.size() / ids.size();
  if (top_ids.size() != each * ids.size() || top_ids.size() != top_logprobs.size())
    return "has not as many likeliest tokens for each id";
  if (each > request_limits::top_logprobs_max)
    return "has too many likeliest tokens";
  out.reserve(ids.size());
  for (unsigned i = 0; i < ids.size(); ++i) {
    if (!std::isfinite(logprobs[i]))
      return "has a logprob that is not finite";
    generated_token token{ids[i], logprobs[i]};
    token.top.reserve(each);
    for (unsigned at = i * each; at < (i + 1) * each; ++at) {
      if (!std::isfinite(top_logprobs[at]))
        return "has a logprob that is not finite";
      token.top.push_back({top_ids[at], top_logprobs[at]});
    }
    out.push_back(std::move(token));
  }
  return nullptr;
}

} // namespace penstock::schema
