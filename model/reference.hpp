// The oracle: each operation of a Llama forward pass, then the pass itself, one token at a time.
//
// Plain loops over float32 values, dot products and means summed in double: no pages, no batches,
// no threads, no speed. Kernels elsewhere are compared with it, within a tolerance of theirs.
// Results do not depend on how a text was cut into calls.
#pragma once

#include "base/request.hpp"
#include "model/config.hpp"
#include "model/weights.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::model {

/// out[i] = x[i] / sqrt(mean(x^2) + eps) * weight[i].
/// @param out [dim], may be `x`.  @param x [dim].  @param weight [dim].  @param eps > 0.
void rmsnorm_ref(std::span<float> out, std::span<const float> x, const tensor_view& weight,
                 float eps);

/// out = weight x: one dot product per row.
/// @param out [rows], not overlapping `x`.  @param x [columns].  @param weight [rows, columns].
void matmul_ref(std::span<float> out, std::span<const float> x, const tensor_view& weight);

/// @returns [head_dim / 2] radians per position: rope_theta^(-2i / head_dim), scaled as configured.
[[nodiscard]] std::vector<double> rope_frequencies(const model_config& config);

/// Rotates dimensions i and i + head_dim / 2 of each head by position * frequencies[i], in place.
/// @param x [heads, head_dim], row-major; head_dim = 2 * frequencies.size().
void rope_ref(std::span<float> x, uint32_t position, std::span<const double> frequencies);

/// Causal attention of one position over all before it and itself, softmax(q k / sqrt(head_dim)) v.
/// @param out    [heads, head_dim], not overlapping the others.
/// @param q      [heads, head_dim].
/// @param keys   [positions, kv_heads, head_dim], positions >= 1; query head h reads KV head
///               h / (heads / kv_heads).
/// @param values As `keys`.
void attention_ref(std::span<float> out, std::span<const float> q, std::span<const float> keys,
                   std::span<const float> values, uint32_t kv_heads, uint32_t head_dim);

/// out[i] = silu(gate[i]) * up[i], silu(x) = x / (1 + exp(-x)).
/// @param out May be `gate` or `up`.
void silu_mul_ref(std::span<float> out, std::span<const float> gate, std::span<const float> up);

/// In place: x[i] - log(sum(exp(x))).
void log_softmax_ref(std::span<float> x);

/// @returns Index of the largest element, the first on ties. `x` is not empty.
[[nodiscard]] token_id argmax_ref(std::span<const float> x);

/// One sequence: its KV cache, float32, and the next step.
class reference_state {
public:
  /// Borrows both for its life.
  reference_state(const model_config& config, const weights& w);

  /// Takes the token at position().
  /// @param id Below config.vocab; position() is below config.context.
  void feed(token_id id);

  /// @returns [vocab] logits of what follows the tokens so far; at least one was fed.
  [[nodiscard]] std::vector<float> logits() const;

  /// Tokens fed so far.
  [[nodiscard]] uint32_t position() const noexcept { return position_; }
  /// [position(), kv_heads, head_dim] of one layer, keys after rotation.
  [[nodiscard]] std::span<const float> keys(uint32_t layer) const { return cache_[layer].keys; }
  [[nodiscard]] std::span<const float> values(uint32_t layer) const { return cache_[layer].values; }

private:
  struct layer_cache {
    std::vector<float> keys;
    std::vector<float> values;
  };
  void attend(const layer_weights& layer, layer_cache& cache);
  void feed_forward(const layer_weights& layer);

  const model_config& config_;
  const weights& weights_;
  std::vector<double> frequencies_;
  std::vector<layer_cache> cache_; // By layer.
  std::vector<float> x_;           // [hidden], the residual stream.
  uint32_t position_ = 0;
};

/// @param ids 1 to config.context ids below config.vocab.
/// @returns [ids.size(), vocab], row i: what follows ids[0..i].
[[nodiscard]] std::vector<float> reference_logits(const model_config& config, const weights& w,
                                                  std::span<const token_id> ids);
/// @returns [vocab], the last row of reference_logits, without computing the others.
[[nodiscard]] std::vector<float> reference_last_logits(const model_config& config, const weights& w,
                                                       std::span<const token_id> ids);

} // namespace penstock::model
