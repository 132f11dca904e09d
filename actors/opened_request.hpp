// What a request means for the model that is served here: its prompt as ids, or why there is none.
//
// The checks that need the tokenizer or the context; those of form come before, at the edge. A
// gateway's sessions and `penstock run` both call it, so that both refuse the same. No CAF.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"
#include "model/tokenizer.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::actors {

struct opened_request {
  std::vector<token_id> prompt; ///< Not empty; the beginning of the reply is its end.
  std::string text;             ///< The same as UTF-8: what a guardrail sees.
};

/// A text prompt and the beginning of the reply are encoded as one text: cut in two they could give
/// tokens that no text has, which the model never saw. After ids it is encoded alone, as text that
/// goes on: no special token and no space before it.
/// @returns errc::invalid_argument, errc::prompt_empty or errc::prompt_too_long, naming the field,
///   its value and the limit.
[[nodiscard]] result<opened_request>
open_request(const generate_request& what, const model::tokenizer& tokens, uint32_t context_tokens);

/// @param by_tenant Tenants share no cached prefixes.
/// @returns Which cached prefixes a request may use: those of equal scopes. Different pairs of
///   tenant and salt never give the same.
[[nodiscard]] std::string cache_scope_of(const generate_request& what, bool by_tenant);

} // namespace penstock::actors
