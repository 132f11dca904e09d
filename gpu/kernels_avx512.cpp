// The avx512 path: the kernel templates over avx512_simd, built with AVX-512F.
#include "gpu/kernels_table.hpp"
#include "gpu/simd_avx512.hpp"

namespace penstock::gpu {

const kernel_table& avx512_kernels() noexcept {
  static constexpr kernel_table table = table_of<avx512_simd>("avx512");
  return table;
}

} // namespace penstock::gpu
