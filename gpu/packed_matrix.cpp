#include "gpu/packed_matrix.hpp"

#include "base/check.hpp"

#include <cstring>
#include <new>
#include <vector>

namespace penstock::gpu {

namespace {

constexpr std::align_val_t cache_line{64};

size_t element_bytes(weight_dtype dtype) {
  return dtype == weight_dtype::f32 ? 4 : 2;
}

} // namespace

void packed_matrix::aligned_delete::operator()(std::byte* p) const noexcept {
  ::operator delete[](p, cache_line);
}

size_t packed_matrix::bytes_for(uint32_t rows, uint32_t depth, weight_dtype dtype) noexcept {
  return padded(rows) * depth * element_bytes(dtype);
}

weight_dtype packed_dtype(std::span<const model::tensor_view> sources) {
  PS_CHECK(!sources.empty());
  for (const auto& source : sources)
    if (source.type != sources[0].type)
      return weight_dtype::f32;
  switch (sources[0].type) {
  case model::dtype::f32:
    return weight_dtype::f32;
  case model::dtype::f16:
    return weight_dtype::f16;
  case model::dtype::bf16:
    return weight_dtype::bf16;
  }
  PS_UNREACHABLE();
}

packed_matrix::packed_matrix(std::span<const model::tensor_view> sources)
  : dtype_(packed_dtype(sources)) {
  depth_ = static_cast<uint32_t>(sources[0].dims[1]);
  for (const auto& source : sources) {
    PS_CHECK(source.dims.rank() == 2);
    PS_CHECK(source.dims[1] == depth_);
    rows_ += static_cast<uint32_t>(source.dims[0]);
  }
  PS_CHECK(rows_ > 0 && depth_ > 0);
  data_.reset(static_cast<std::byte*>(::operator new[](size_bytes(), cache_line)));
  const size_t panel_bytes = size_t{lane_count} * depth_ * element_bytes(dtype_);
  if (padded(rows_) != rows_) // The last panel's missing rows are zeros.
    std::memset(data_.get() + (panels() - 1) * panel_bytes, 0, panel_bytes);
  uint32_t row = 0;
  for (const auto& source : sources)
    for (uint32_t i = 0; i < source.dims[0]; ++i)
      pack_row(source, i, row++);
}

void packed_matrix::pack_row(const model::tensor_view& source, uint32_t from, uint32_t to) {
  const size_t size = element_bytes(dtype_);
  const std::byte* in = source.data + size_t{from} * depth_ * size;
  std::vector<float> wide;
  if (size != model::size_bytes_of(source.type)) {
    wide.resize(depth_);
    model::widen(source, uint64_t{from} * depth_, wide);
    in = reinterpret_cast<const std::byte*>(wide.data());
  }
  std::byte* out
    = data_.get() + (size_t{to} / lane_count * depth_ * lane_count + to % lane_count) * size;
  for (size_t k = 0; k < depth_; ++k)
    std::memcpy(out + k * lane_count * size, in + k * size, size);
}

} // namespace penstock::gpu
