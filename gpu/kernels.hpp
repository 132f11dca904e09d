// The host kernels on raw pointers: what each computes, over which shapes. docs/numerics.md says
// how.
//
// A kernel_table is one instruction path's set of launchers. All tables give the same bits; they
// are constants, chosen once and handed to whoever computes. No allocation, no threads, no state:
// callers split work over panels, tokens or heads, which changes no bit. Rows are f32, row-major.
// Oracle of each: the scalar table, exactly; of that one: tests/gpu against plain loops.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::gpu {

enum class weight_dtype : uint8_t { f32 = 0, bf16 = 1, f16 = 2 };

/// Output columns per packed panel, keys per group, and lanes of every sum.
inline constexpr uint32_t lane_count = 16;

/// out[m][n] = sum over k of x[m][k] * w[n][k], for the outputs of some panels.
struct product_args {
  const float* x = nullptr; ///< [rows, depth], row m at x + m * x_stride.
  size_t x_stride = 0;
  uint32_t rows = 0;             ///< May be 0.
  const void* weights = nullptr; ///< Panels [panel][depth][16], see packed_matrix.
  weight_dtype dtype = weight_dtype::f32;
  uint32_t depth = 0;       ///< K, > 0.
  float* out = nullptr;     ///< [rows, 16 * panels], row m at out + m * out_stride.
  size_t out_stride = 0;    ///< >= 16 * panels: padding columns are written too.
  uint32_t panel_begin = 0; ///< Computes panels [begin, end).
  uint32_t panel_end = 0;
};

/// Attention of some tokens of one row, for the query heads that share one key head.
struct attention_args {
  const float* query = nullptr; ///< Token t, head h at query + t * query_stride + h * head_dim.
  size_t query_stride = 0;
  float* out = nullptr; ///< Laid out like query, with its own stride; must not alias.
  size_t out_stride = 0;
  uint32_t tokens = 0; ///< Tokens t = 0 .. tokens-1 have positions first_position + t.
  uint32_t first_position = 0;
  uint32_t query_head = 0; ///< First of `group` query heads.
  uint32_t group = 0;      ///< Query heads per key head, > 0.
  uint32_t key_head = 0;
  uint32_t head_dim = 0; ///< A multiple of 2.
  float scale = 0.0F;
  const float* layer = nullptr;     ///< This layer's pieces: block b at layer + b * piece_floats.
  size_t piece_floats = 0;          ///< K half, then V half; see kv_layout.
  uint32_t block_tokens = 0;        ///< A multiple of 16.
  const uint32_t* blocks = nullptr; ///< The row's table; covers every position attended to.
  float* scratch = nullptr;         ///< attention_scratch_floats(head_dim) floats, this worker's.
};

/// @returns Floats of scratch an attention call needs.
[[nodiscard]] constexpr size_t attention_scratch_floats(uint32_t head_dim) noexcept {
  return size_t{4} * (head_dim + 64 + lane_count);
}

/// What greedy sampling and softmax need to know of a row of logits.
struct logit_peak {
  float value = 0.0F;
  uint32_t index = 0;  ///< Lowest index of the largest value.
  bool finite = false; ///< False: some logit is NaN or infinite; the rest means nothing.
};

struct kernel_table {
  std::string_view name;
  /// Bound: 2 * rows * depth * 16 * panels flops; with few rows, the weights' bytes.
  void (*product)(const product_args& args) = nullptr;
  /// Bound: 4 * head_dim flops per key, token and head; decode: the K and V bytes attended to.
  void (*attention)(const attention_args& args) = nullptr;
  /// out[i] = x[i] * inv * weight[i]. @param out [dim]; may alias x. Bound: memory.
  void (*rmsnorm)(float* out, const float* x, const float* weight, uint32_t dim, float eps)
    = nullptr;
  /// Rotates `heads` heads in place. @param x [heads, head_dim]. @param cosine, sine [head_dim/2].
  void (*rope)(float* x, uint32_t heads, uint32_t head_dim, const float* cosine, const float* sine)
    = nullptr;
  /// out[i] = gate[i] / (1 + exp(-gate[i])) * up[i]; out may alias either.
  void (*silu_mul)(float* out, const float* gate, const float* up, size_t count) = nullptr;
  /// x[i] += y[i].
  void (*add)(float* x, const float* y, size_t count) = nullptr;
  /// out[i] = exp((x[i] - peak) / temperature); out may alias x. temperature > 0.
  void (*exp_scaled)(float* out, const float* x, size_t count, float peak, float temperature)
    = nullptr;
  /// @returns tree of the 16 lanes of exp(x[i] - peak).
  float (*exp_sum)(const float* x, size_t count, float peak) = nullptr;
  /// @param count > 0.
  logit_peak (*peak)(const float* x, size_t count) = nullptr;
};

enum class kernel_path : uint8_t { best = 0, scalar = 1, avx2 = 2, avx512 = 3 };

[[nodiscard]] const kernel_table& scalar_kernels() noexcept;
[[nodiscard]] const kernel_table& avx2_kernels() noexcept;   ///< Only where the CPU has it.
[[nodiscard]] const kernel_table& avx512_kernels() noexcept; ///< Only where the CPU has it.

/// @returns True if this CPU can run the path's kernels.
[[nodiscard]] bool is_available(kernel_path path) noexcept;

/// @returns The path's table; errc::unsupported if this CPU cannot run it.
[[nodiscard]] result<const kernel_table*> kernels_for(kernel_path path);

} // namespace penstock::gpu
