// A Llama-family model's hyper-parameters, read from config.json and generation_config.json.
//
// Every value is checked here, once: whoever holds a model_config may trust the invariants below.
// Knows no weights; whether tensors match is checked by bind_weights.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::model {

/// Llama 3's stretch of the rotary frequencies: long wavelengths are divided by `factor`.
struct rope_scaling_llama3 {
  float factor = 1.0F;           ///< >= 1.
  float low_freq_factor = 1.0F;  ///< In (0, high_freq_factor).
  float high_freq_factor = 4.0F; ///< Wavelengths below original_context / this are kept.
  uint32_t original_context = 0; ///< Tokens, > 0.
  bool operator==(const rope_scaling_llama3&) const = default;
};

struct model_config {
  std::string model_type = "llama"; ///< "llama" or "mistral".
  uint32_t hidden = 0;              ///< Width of the residual stream.
  uint32_t intermediate = 0;        ///< Width inside the MLP.
  uint32_t layers = 0;
  uint32_t heads = 0;    ///< A multiple of kv_heads.
  uint32_t kv_heads = 0; ///< Grouped-query attention: heads / kv_heads queries share one.
  uint32_t head_dim = 0; ///< Even. heads * head_dim need not be `hidden`.
  uint32_t vocab = 0;    ///< Rows of the embedding; every token id is below it.
  uint32_t context = 0;  ///< Positions, in [1, limits::context_tokens_max].
  float rope_theta = 10000.0F;
  std::optional<rope_scaling_llama3> rope_scaling;
  float rms_eps = 1e-6F;
  bool tie_embeddings = false; ///< The output matrix is the embedding.
  std::optional<token_id> bos;
  std::vector<token_id> eos; ///< Any of them ends a text; may be empty.

  bool operator==(const model_config&) const = default;
};

/// Reads the hyper-parameters out of a config.json.
/// @param source Name for errors, e.g. its path.
/// @returns errc::malformed (wrong or missing value) or errc::unsupported (well formed, but not a
///          network this build computes); the detail has key, found and allowed values.
[[nodiscard]] result<model_config> parse_config(std::span<const std::byte> bytes,
                                                std::string_view source);

/// Applies a generation_config.json: its bos and eos ids replace those of config.json.
/// @returns As parse_config; `config` is untouched on error.
[[nodiscard]] result<void> parse_generation_config(std::span<const std::byte> bytes,
                                                   std::string_view source, model_config& config);

/// @returns The config as a config.json that parse_config reads back to the same values.
[[nodiscard]] std::string config_json_text(const model_config& config);

/// Largest config.json read.
inline constexpr size_t config_bytes_max = size_t{1} << 20U;

} // namespace penstock::model
