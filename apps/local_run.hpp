// One prompt on one device in this process, without actors, cluster or transfer: the oracle that
// every distributed answer must equal bit for bit.
//
// Prefill without sampling for all prompt tokens but the last, in chunks; then decode steps, the
// first of which takes the last prompt token. Refuses what a cluster refuses, with the same codes.
#pragma once

#include "apps/answer.hpp"
#include "base/request.hpp"
#include "base/result.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace penstock::model {
struct loaded_model;
} // namespace penstock::model

namespace penstock::apps {

struct local_options {
  uint32_t threads = 1;       ///< In [1, 256].
  uint32_t block_tokens = 16; ///< 16, 32 or 64.
  uint32_t chunk = 256;       ///< Prompt tokens per prefill step, in [1, 65536].
};

/// @param request Its model and budget are ignored.
/// @param on_text Called with text as it becomes final; may be empty.
[[nodiscard]] answer run_local(const model::loaded_model& model, const generate_request& request,
                               const local_options& options,
                               const std::function<void(std::string_view)>& on_text);

} // namespace penstock::apps
