// The avx2 path: the kernel templates over avx2_simd, built with AVX2, FMA and F16C.
#include "gpu/kernels_table.hpp"
#include "gpu/simd_avx2.hpp"

namespace penstock::gpu {

const kernel_table& avx2_kernels() noexcept {
  static constexpr kernel_table table = table_of<avx2_simd>("avx2");
  return table;
}

} // namespace penstock::gpu
