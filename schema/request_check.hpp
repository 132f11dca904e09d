// What a client's request must look like before anything is done with it.
//
// Form only: whether the model is known and the prompt fits its context is the session's to say.
// Every edge calls it; the limits are those of inference.capnp.
#pragma once

#include "base/limits.hpp"
#include "base/request.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace penstock::schema::request_limits {

inline constexpr size_t model_bytes_max = 256;
inline constexpr size_t prompt_bytes_max = limits::prompt_bytes_max;
inline constexpr size_t prompt_ids_max = limits::context_tokens_max;
inline constexpr float temperature_max = 10.0F;
inline constexpr uint32_t tokens_max_max = limits::context_tokens_max;
inline constexpr float repetition_penalty_max = 10.0F;
inline constexpr uint32_t top_logprobs_max = 20;
inline constexpr size_t stop_ids_max = 64;
inline constexpr size_t stop_strings_max = 16;
inline constexpr size_t stop_string_bytes_max = 256;
inline constexpr size_t reply_prefix_bytes_max = 65536;
inline constexpr size_t tenant_bytes_max = 64;
inline constexpr size_t cache_salt_bytes_max = 128;
inline constexpr uint64_t budget_us_max = 3'600'000'000; ///< One hour.

} // namespace penstock::schema::request_limits

namespace penstock::schema {

/// Sizes of a request's lists, so that they can be judged before they are copied.
struct request_sizes {
  size_t model_bytes = 0;
  size_t prompt_bytes = 0;
  size_t prompt_ids = 0;
  size_t stop_ids = 0;
  size_t stop_strings = 0;
  size_t stop_string_bytes = 0; ///< Of the longest.
  size_t reply_prefix_bytes = 0;
  size_t tenant_bytes = 0;
  size_t cache_salt_bytes = 0;
};

/// @returns errc::invalid_argument, naming the field and its limit.
[[nodiscard]] result<void> check_sizes(const request_sizes& sizes);

/// @returns What is wrong with a field, if one is outside its range: "top_p is 2.000000, not in
/// (0, 1]". The same for clients and between nodes.
[[nodiscard]] std::optional<std::string> wrong_sampling(const sampling_params& sampling);

/// @returns errc::invalid_argument, naming the field and its limit.
[[nodiscard]] result<void> check_request(const generate_request& request);

/// @returns The ending of a request that was never started.
[[nodiscard]] generate_outcome refused_outcome(const error& why);

} // namespace penstock::schema
