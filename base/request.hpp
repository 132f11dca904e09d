// The words a request is described in, shared by every folder.
#pragma once

#include "base/errc.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

using token_id = uint32_t;       ///< Index into the model's vocabulary.
using request_id = uint64_t;     ///< Unique while its gateway lives; 0 is never used.
using node_index = uint32_t;     ///< Position of a node in the cluster file.
using incarnation_id = uint64_t; ///< Which start of a node; later starts are larger.

/// How the next token is drawn. Decode's state is a function of these and the tokens so far.
struct sampling_params {
  float temperature = 0.0F;  ///< 0 is greedy; else in (0, 10].
  uint64_t seed = 0;         ///< Key of the counter-based random numbers.
  uint32_t tokens_max = 128; ///< Generated tokens at most, in [1, context].
  bool ignore_end = false;   ///< Go on after the model's end-of-sequence tokens.
  uint32_t top_k = 0;        ///< Draw from that many of the likeliest tokens; 0: from all.
  float top_p = 1.0F;        ///< Draw from the likeliest that together have this share, in (0, 1].
  float min_p = 0.0F; ///< Draw from those with this share of the likeliest's probability, [0, 1].
  float repetition_penalty = 1.0F;     ///< On tokens of prompt and answer, in (0, 10]; 1: none.
  uint32_t tokens_min = 0;             ///< Before that many, no end is drawn; <= tokens_max.
  std::vector<token_id> stop_ids = {}; ///< Tokens that end the answer, whatever ignore_end says.
  uint32_t top_logprobs = 0;           ///< Likeliest tokens to name beside each, in [0, 20].
};

/// @param model_ends The model's end-of-sequence tokens.
/// @returns The tokens that end an answer. They are not in it.
[[nodiscard]] std::vector<token_id> ends_of(const sampling_params& sampling,
                                            const std::vector<token_id>& model_ends);

/// How urgent a request is; who waits on it. Numbers are wire format.
enum class priority_class : uint8_t {
  interactive = 0, ///< A person watches it being written.
  normal = 1,
  batch = 2, ///< Nobody waits: it may be late, and gives way first.
};

[[nodiscard]] std::string_view name_of(priority_class priority) noexcept;

/// What a client asks for, after the edge has checked its form.
struct generate_request {
  std::string model;                ///< Empty: the cluster's model.
  std::string prompt;               ///< UTF-8; empty if prompt_ids are given.
  std::vector<token_id> prompt_ids; ///< Taken as they are.
  bool raw = false;                 ///< Add no special tokens to `prompt`.
  sampling_params sampling;
  /// The answer ends before the first of them; UTF-8. Tokens with a part in it are not given.
  std::vector<std::string> stop_strings;
  /// UTF-8: how the answer begins. It counts as prompt, the answer goes on after it.
  std::string reply_prefix;
  priority_class priority = priority_class::normal;
  std::string tenant;     ///< Whose request it is: [A-Za-z0-9._-], at most 64 bytes.
  std::string cache_salt; ///< UTF-8: only requests with the same one share cached prefixes.
  uint64_t budget_us = 0; ///< Time from acceptance to the last token; > 0.
};

/// Why a request ended. Numbers are wire format.
enum class finish_reason : uint8_t {
  stop = 0,      ///< An end token or a stop string.
  length = 1,    ///< tokens_max or the context was reached.
  cancelled = 2, ///< The client gave up.
  deadline = 3,  ///< The budget ran out.
  blocked = 4,   ///< A guardrail rule.
  refused = 5,   ///< Not accepted; the error says why.
  failed = 6,    ///< Accepted, but could not be finished; the error says why.
};

[[nodiscard]] std::string_view name_of(finish_reason reason) noexcept;

/// Tokens by origin: computed + cached = prompt, always.
struct usage {
  uint32_t prompt_tokens = 0;
  uint32_t completion_tokens = 0; ///< Those given: no end token, no stop string's.
  uint32_t cached_tokens = 0;     ///< Prompt tokens whose KV was found, not computed.
  uint32_t computed_tokens = 0;
  uint32_t transferred_tokens = 0; ///< Beside: prompt tokens whose KV was moved between nodes.
  uint32_t recomputed_tokens = 0;  ///< Beside: computed again after a failure.
};

/// Where a request's time went, in microseconds. 0 where a stage did not happen.
struct request_timings {
  uint64_t admission_us = 0;
  uint64_t guardrail_us = 0;
  uint64_t queue_us = 0;            ///< Waiting for prefill to start, booking included.
  uint64_t prefill_us = 0;          ///< First chunk's start to last chunk's end.
  uint64_t transfer_us = 0;         ///< First read posted to last unit verified.
  uint64_t transfer_exposed_us = 0; ///< The part of it after prefill had ended.
  uint64_t transfer_bytes = 0;
  uint64_t ttft_us = 0; ///< Acceptance to first token.
  uint64_t total_us = 0;
};

/// Who served a request.
struct request_placement {
  std::string gateway;
  std::string prefill;
  std::string decode;
  std::string transport; ///< How KV moved: "mapped", "tcp;ofi_rxm", "local", "none".
  uint32_t attempts = 1;
};

/// The one ending of a request.
struct generate_outcome {
  finish_reason reason = finish_reason::failed;
  errc code = errc::ok;        ///< ok for stop and length.
  std::string detail;          ///< For people; empty if ok.
  uint64_t retry_after_us = 0; ///< A hint with errc::overloaded.
  bool exact = true;           ///< Tokens are those one undisturbed node would have produced.
  penstock::usage usage;
  request_timings timings;
  request_placement placement;
};

/// A token that could have come, and how likely it was.
struct token_logprob {
  token_id id = 0;
  float logprob = 0.0F; ///< As generated_token's.
};

/// One generated token on its way to the client.
struct generated_token {
  token_id id = 0;
  float logprob = 0.0F; ///< Natural log of the model's probability, at temperature 1.
  std::vector<token_logprob> top = {}; ///< The likeliest first, if asked for; ties by id.
};

} // namespace penstock
