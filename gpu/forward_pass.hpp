// One pass of the network over the tokens of several rows: KV into the pool, logits out.
//
// Orchestration only: cuts each operation into parts for the team and calls the kernels. All rows'
// tokens are stacked, row after row, for everything but attention. Decides nothing about who is in
// the batch, and by docs/numerics.md what is in it changes no row's bits. One owner calls it.
#pragma once

#include "base/request.hpp"
#include "gpu/host_weights.hpp"
#include "gpu/kernels.hpp"
#include "gpu/kv_layout.hpp"
#include "gpu/thread_team.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace penstock::gpu {

/// One row's part. Spans are borrowed for the call.
struct forward_row {
  uint32_t position = 0;            ///< Of the first token.
  std::span<const token_id> tokens; ///< Not empty; each below the vocabulary.
  std::span<const uint32_t> blocks; ///< Covers position + tokens.
  bool wants_logits = false;        ///< After its last token.
};

struct forward_limits {
  uint32_t tokens_max = 0; ///< Over all rows of a pass, > 0.
  uint32_t rows_max = 0;   ///< Rows that want logits, > 0.
};

class forward_pass {
public:
  /// Everything borrowed must outlive this. @param pool layout.pool_bytes(), 4-byte aligned.
  forward_pass(const model::model_config& config, const host_weights& weights,
               const kernel_table& kernels, thread_team& team, const kv_layout& layout,
               std::span<std::byte> pool, forward_limits at_most);

  /// Computes the rows. Their KV is in the pool and their logits in logits() when it returns.
  void run(std::span<const forward_row> rows);

  /// @returns Logits of the index-th row that wanted them in the last run. [vocab]
  [[nodiscard]] std::span<const float> logits(uint32_t index) const;

  /// @returns Bytes of activations a pass with these limits owns.
  [[nodiscard]] static size_t bytes_for(const model::model_config& config, forward_limits at_most,
                                        uint32_t workers);

private:
  /// Tokens [first, first + count) of the stack belong to one row.
  struct attention_part {
    uint32_t row = 0;
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t key_head = 0;
  };

  void plan(std::span<const forward_row> rows);
  void embed(std::span<const forward_row> rows);
  void run_layer(uint32_t index, std::span<const forward_row> rows);
  void run_mlp(const host_layer& layer); // Attention's output projection, then the MLP.
  void write_kv(uint32_t layer, uint32_t token, std::span<const forward_row> rows);
  void attend(uint32_t layer, std::span<const forward_row> rows);
  void project_logits(std::span<const forward_row> rows);
  void multiply(const packed_matrix& matrix, const std::vector<float>& in, size_t in_stride,
                uint32_t rows, std::vector<float>& out);
  template <class Op>
  void for_tokens(const Op& op);
  float* piece(uint32_t layer, uint32_t block);

  const model::model_config& config_;
  const host_weights& weights_;
  const kernel_table& kernels_;
  thread_team& team_;
  const kv_layout layout_;
  std::span<std::byte> pool_;
  const forward_limits at_most_;
  const std::vector<float> frequencies_;
  const float scale_;

  // The pass's plan.
  uint32_t tokens_ = 0;
  bool any_logits_ = false;
  std::vector<uint32_t> row_of_;         ///< [tokens]
  std::vector<uint32_t> first_token_of_; ///< [rows] index in the stack
  std::vector<attention_part> attention_parts_;

  // Activations, row-major; rows are padded to whole panels where a product writes them.
  std::vector<float> x_;       ///< [tokens, hidden] the residual stream
  std::vector<float> normed_;  ///< [tokens, hidden]
  std::vector<float> added_;   ///< [tokens, hidden] what a block adds to x
  std::vector<float> qkv_;     ///< [tokens, q + k + v]
  std::vector<float> mixed_;   ///< [tokens, heads * head_dim] attention's output
  std::vector<float> gate_up_; ///< [tokens, 2 * intermediate]; silu(gate) * up ends in gate
  std::vector<float> cosine_;  ///< [tokens, head_dim / 2]
  std::vector<float> sine_;
  std::vector<float> logits_;  ///< [rows_max, vocab]
  std::vector<float> scratch_; ///< [workers, attention_scratch_floats]
};

} // namespace penstock::gpu
