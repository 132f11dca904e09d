// A weight matrix in the order the product kernels read it: panels [N/16][K][16] of one dtype.
//
// Owns its memory. Packing copies once at load and changes no value: bf16 and f16 stay as they are,
// unless matrices of several dtypes are packed together, which are widened to f32 (exactly).
#pragma once

#include "gpu/kernels.hpp"
#include "model/tensor.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace penstock::gpu {

class packed_matrix {
public:
  packed_matrix() = default;
  /// Packs the sources one below the other. @param sources Each [rows, K], the same K > 0.
  explicit packed_matrix(std::span<const model::tensor_view> sources);

  [[nodiscard]] uint32_t rows() const noexcept { return rows_; } ///< N.
  [[nodiscard]] uint32_t depth() const noexcept { return depth_; }
  [[nodiscard]] uint32_t panels() const noexcept { return (rows_ + lane_count - 1) / lane_count; }
  [[nodiscard]] weight_dtype dtype() const noexcept { return dtype_; }
  [[nodiscard]] const void* data() const noexcept { return data_.get(); }
  [[nodiscard]] size_t size_bytes() const noexcept { return bytes_for(rows_, depth_, dtype_); }

  /// @returns Bytes a packed [rows, depth] matrix takes.
  [[nodiscard]] static size_t bytes_for(uint32_t rows, uint32_t depth, weight_dtype dtype) noexcept;

private:
  void pack_row(const model::tensor_view& source, uint32_t from, uint32_t to);

  struct aligned_delete {
    void operator()(std::byte* p) const noexcept;
  };
  uint32_t rows_ = 0;
  uint32_t depth_ = 0;
  weight_dtype dtype_ = weight_dtype::f32;
  std::unique_ptr<std::byte[], aligned_delete> data_;
};

/// @returns The dtype that matrices packed together get: theirs, or f32 if they differ.
[[nodiscard]] weight_dtype packed_dtype(std::span<const model::tensor_view> sources);

/// @returns x rounded up to whole panels.
[[nodiscard]] constexpr size_t padded(size_t x) noexcept {
  return (x + lane_count - 1) / lane_count * lane_count;
}

} // namespace penstock::gpu
