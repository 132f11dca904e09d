// Tensors as borrowed, read-only views, and exact widening of their elements to float32.
//
// Owns nothing, computes nothing. Elements are little-endian, row-major, without gaps; `data` is
// aligned to the element size.
#pragma once

#include "base/check.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::model {

enum class dtype : uint8_t { f32, f16, bf16 };

/// @returns Bytes per element.
[[nodiscard]] constexpr size_t size_bytes_of(dtype type) noexcept {
  return type == dtype::f32 ? 4 : 2;
}

/// @returns The safetensors name: "F32", "F16", "BF16".
[[nodiscard]] std::string_view name_of(dtype type) noexcept;

/// Dimensions, outermost first. Rank 0 is one element.
class shape {
public:
  static constexpr size_t rank_max = 4;

  shape() = default;
  shape(std::initializer_list<uint64_t> dims) : shape(std::span{dims.begin(), dims.size()}) {}
  /// @param dims At most rank_max; their product must fit uint64_t.
  explicit shape(std::span<const uint64_t> dims);

  [[nodiscard]] size_t rank() const noexcept { return rank_; }
  [[nodiscard]] uint64_t operator[](size_t i) const {
    PS_CHECK(i < rank_);
    return dims_[i];
  }
  /// @returns The product of all dimensions.
  [[nodiscard]] uint64_t element_count() const noexcept;
  /// @returns E.g. "[64, 128]".
  [[nodiscard]] std::string text() const;

  bool operator==(const shape&) const = default;

private:
  std::array<uint64_t, rank_max> dims_{}; // Unused ones stay 0, so that == works.
  size_t rank_ = 0;
};

struct tensor_view {
  const std::byte* data = nullptr;
  dtype type = dtype::f32;
  shape dims;

  [[nodiscard]] uint64_t element_count() const noexcept { return dims.element_count(); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {data, static_cast<size_t>(element_count()) * size_bytes_of(type)};
  }
  /// The elements of an f32 tensor; another dtype is a bug.
  [[nodiscard]] std::span<const float> f32() const {
    PS_CHECK(type == dtype::f32);
    return {reinterpret_cast<const float*>(data), static_cast<size_t>(element_count())};
  }
  /// The bit patterns of an f16 or bf16 tensor; f32 is a bug.
  [[nodiscard]] std::span<const uint16_t> bits16() const {
    PS_CHECK(type != dtype::f32);
    return {reinterpret_cast<const uint16_t*>(data), static_cast<size_t>(element_count())};
  }
};

/// Exact: every f16 and bf16 value is a float32 value.
[[nodiscard]] float f16_to_f32(uint16_t bits) noexcept;
[[nodiscard]] float bf16_to_f32(uint16_t bits) noexcept;
/// Rounds to nearest, ties to even. Too large becomes infinity, NaN stays NaN.
[[nodiscard]] uint16_t f32_to_f16(float value) noexcept;
[[nodiscard]] uint16_t f32_to_bf16(float value) noexcept;

/// Widens `out.size()` elements of `from`, starting with element `first`, exactly.
/// @param first In [0, from.element_count() - out.size()].
void widen(const tensor_view& from, uint64_t first, std::span<float> out);

/// @returns All elements of `from`, widened exactly.
[[nodiscard]] std::vector<float> widened(const tensor_view& from);

} // namespace penstock::model
