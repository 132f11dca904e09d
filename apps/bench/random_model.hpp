// A model of a given size with random weights, as a Hugging Face directory: as slow as a trained
// one of its shape, and anybody can make the same.
//
// It says nothing sensible. Its tokenizer is the built-in model's, so its vocabulary is small and
// nearly all parameters are in the layers.
#pragma once

#include "base/result.hpp"
#include "model/config.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::apps::bench {

inline constexpr uint64_t parameters_min = 1'000'000;
inline constexpr uint64_t parameters_max = 1'000'000'000;

/// @param text "100M", "1.5M", "800000" or "1B".
/// @returns errc::invalid_argument if it is no count, or not in [parameters_min, parameters_max].
[[nodiscard]] result<uint64_t> parse_parameters(std::string_view text);

/// @returns How many weights a network of this shape has.
[[nodiscard]] uint64_t parameters_of(const model::model_config& config);

/// @param parameters About how many, in [parameters_min, parameters_max].
/// @returns A Llama shape within a fifth of it, as deep and wide as such models are.
[[nodiscard]] model::model_config random_shape(uint64_t parameters, uint32_t vocabulary,
                                               uint32_t context);

/// @returns "97.5 M parameters: hidden 768, ..."; of any model's directory.
[[nodiscard]] result<std::string> shape_words(const std::string& directory);

/// Writes config.json, model.safetensors (bf16) and tokenizer.json.
/// @param directory Made if needed; files there are replaced.
/// @returns The shape; errc::io_failed, or errc::invalid_argument if the built-in model is missing.
[[nodiscard]] result<model::model_config> write_random_model(const std::string& directory,
                                                             uint64_t parameters, uint64_t seed);

} // namespace penstock::apps::bench
