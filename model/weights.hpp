// The tensors of a Llama-family network, each in its place and of the right shape.
//
// Views only: who owns the bytes (tensor_set, tiny_model) must outlive them. All matrices are
// [outputs, inputs], row-major: y = W x is a dot product per row. q and k follow the Hugging Face
// rotary convention: dimension i of a head is rotated with i + head_dim / 2.
#pragma once

#include "base/digest.hpp"
#include "base/result.hpp"
#include "model/config.hpp"
#include "model/tensor.hpp"
#include "model/tensor_set.hpp"

#include <string>
#include <vector>

namespace penstock::model {

struct layer_weights {
  tensor_view attn_norm; ///< [hidden]
  tensor_view q;         ///< [heads * head_dim, hidden]
  tensor_view k;         ///< [kv_heads * head_dim, hidden]
  tensor_view v;         ///< [kv_heads * head_dim, hidden]
  tensor_view o;         ///< [hidden, heads * head_dim]
  tensor_view mlp_norm;  ///< [hidden]
  tensor_view gate;      ///< [intermediate, hidden]
  tensor_view up;        ///< [intermediate, hidden]
  tensor_view down;      ///< [hidden, intermediate]
};

struct weights {
  tensor_view embed; ///< [vocab, hidden]
  std::vector<layer_weights> layers;
  tensor_view final_norm; ///< [hidden]
  tensor_view lm_head;    ///< [vocab, hidden]; the same bytes as `embed` if tied.
};

/// One tensor of the network: its Hugging Face name, its shape, and where its view belongs.
struct weight_slot {
  std::string name;
  shape expected;
  tensor_view* view;
};

/// @returns Every tensor of the network in a fixed order, the embedding first; without lm_head if
///          the config ties it. Sizes `out.layers`; the slots point into `out`.
[[nodiscard]] std::vector<weight_slot> weight_slots(const model_config& config, weights& out);

/// Finds every tensor the config asks for and checks its shape and dtype.
/// @returns errc::malformed with tensor, expected and found shape, or a missing name;
///          errc::unsupported for a dtype, or for tensors that no Llama network has.
[[nodiscard]] result<weights> bind_weights(const model_config& config, const tensor_set& tensors);

/// @returns A digest of what decides the logits: hyper-parameters, tensor names, dtypes, bytes.
///          Reads every byte. Depends on neither file names nor sharding.
[[nodiscard]] digest128 digest_of(const model_config& config, const weights& w);

} // namespace penstock::model
