// The scalar path: the kernel templates over scalar_simd, the oracle of the other paths.
#include "gpu/kernels_table.hpp"
#include "gpu/simd_scalar.hpp"

namespace penstock::gpu {

const kernel_table& scalar_kernels() noexcept {
  static constexpr kernel_table table = table_of<scalar_simd>("scalar");
  return table;
}

} // namespace penstock::gpu
