// Models of any shape with seeded random weights, for tests and benchmarks.
//
// They say nothing sensible, but their activations and logits stay of order one at any depth and
// width, so that numeric differences show as they would in a trained model.
#pragma once

#include "model/config.hpp"
#include "model/tensor.hpp"
#include "model/weights.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::model {

/// Owns the bytes that `weights` views; moving keeps the views valid, copying would not.
struct tiny_model {
  struct alignas(64) line {
    std::byte bytes[64];
  };

  tiny_model() = default;
  tiny_model(tiny_model&&) noexcept = default;
  tiny_model& operator=(tiny_model&&) noexcept = default;
  ~tiny_model() = default;

  model_config config;
  model::weights weights;
  std::vector<line> storage; ///< Every tensor starts on a 64-byte boundary.
};

/// @returns A small valid config to start from: hidden 64, 2 layers, 4 heads over 2 KV heads of
///          dimension 16, intermediate 160, vocab 256, context 512, untied.
[[nodiscard]] model_config tiny_config();

/// @param config Valid as parse_config would return it.
/// @param type   Of every tensor.
/// @returns The same bytes for the same arguments, on every machine.
[[nodiscard]] tiny_model make_tiny(const model_config& config, dtype type, uint64_t seed);

} // namespace penstock::model
