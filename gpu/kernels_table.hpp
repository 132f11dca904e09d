// Fills a kernel_table from the templates. Included by kernels_*.cpp only.
#pragma once

#include "gpu/kernels_attention.hpp"
#include "gpu/kernels_elementwise.hpp"
#include "gpu/kernels_product.hpp"

namespace penstock::gpu {
namespace {

template <class S>
constexpr kernel_table table_of(std::string_view name) {
  kernel_table table;
  table.name = name;
  table.product = product<S>;
  table.attention = attention<S>;
  table.rmsnorm = rmsnorm<S>;
  table.rope = rope<S>;
  table.silu_mul = silu_mul<S>;
  table.add = add<S>;
  table.exp_scaled = exp_scaled<S>;
  table.exp_sum = exp_sum<S>;
  table.peak = peak<S>;
  return table;
}

} // namespace
} // namespace penstock::gpu
