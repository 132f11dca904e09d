#include "gpu/kernels.hpp"

namespace penstock::gpu {

bool is_available(kernel_path path) noexcept {
  switch (path) {
  case kernel_path::best:
  case kernel_path::scalar:
    return true;
  case kernel_path::avx2:
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0
           && __builtin_cpu_supports("f16c") != 0;
  case kernel_path::avx512:
    return __builtin_cpu_supports("avx512f") != 0 && is_available(kernel_path::avx2);
  }
  return false;
}

result<const kernel_table*> kernels_for(kernel_path path) {
  if (!is_available(path))
    return error{errc::unsupported,
                 "this CPU lacks the instructions of the kernel path asked for; use \"best\""};
  switch (path) {
  case kernel_path::scalar:
    return &scalar_kernels();
  case kernel_path::avx2:
    return &avx2_kernels();
  case kernel_path::avx512:
    return &avx512_kernels();
  case kernel_path::best:
    break;
  }
  if (is_available(kernel_path::avx512))
    return &avx512_kernels();
  return is_available(kernel_path::avx2) ? &avx2_kernels() : &scalar_kernels();
}

} // namespace penstock::gpu
