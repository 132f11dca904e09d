// A model's weights as the host device wants them: matrices packed, norms widened.
//
// Built once at load. Owns everything but the embedding, of which it keeps a view: a row at a time
// is read, so the checkpoint's own bytes serve.
#pragma once

#include "gpu/packed_matrix.hpp"
#include "model/config.hpp"
#include "model/weights.hpp"

#include <vector>

namespace penstock::gpu {

struct host_layer {
  std::vector<float> attn_norm; ///< [hidden]
  packed_matrix qkv;            ///< [q; k; v]
  packed_matrix o;
  std::vector<float> mlp_norm; ///< [hidden]
  packed_matrix gate_up;       ///< [gate; up]
  packed_matrix down;
};

class host_weights {
public:
  /// @param source Fits `config` (model::bind_weights); its embedding must outlive this.
  host_weights(const model::model_config& config, const model::weights& source);

  [[nodiscard]] const model::tensor_view& embedding() const noexcept { return embedding_; }
  [[nodiscard]] const std::vector<host_layer>& layers() const noexcept { return layers_; }
  [[nodiscard]] const std::vector<float>& final_norm() const noexcept { return final_norm_; }
  [[nodiscard]] const packed_matrix& head() const noexcept { return head_; }

  /// @returns Bytes the packed matrices and norms of such weights take, without packing them.
  [[nodiscard]] static size_t bytes_for(const model::model_config& config,
                                        const model::weights& source);

private:
  model::tensor_view embedding_;
  std::vector<host_layer> layers_;
  std::vector<float> final_norm_;
  packed_matrix head_; ///< [vocab, hidden]
};

} // namespace penstock::gpu
