// Host kernels beside what one core can do: GFLOP/s next to the FMA peak, GB/s next to a read.
//
// The peaks are measured here, on the same core, by the loops below; a counter `share` is the
// kernel's rate over the matching peak. Each kernel's result is checked before it is timed.
#include "base/rng.hpp"
#include "gpu/kernels.hpp"
#include "gpu/packed_matrix.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>

namespace penstock::gpu {
namespace {

/// Seconds this thread has run: what others do on the core meanwhile is not the kernel's time.
double seconds_run() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Best of some runs, so that a neighbour on the core does not lower the bar.
template <class Run>
double best_rate(double work, const Run& run) {
  double best = 0.0;
  for (int i = 0; i < 12; ++i) {
    const double start = seconds_run();
    run();
    best = std::max(best, work / (seconds_run() - start));
  }
  return best;
}

/// 16-float vectors the compiler maps to what the CPU has; a chain of 12 hides the latency.
#define PS_FOR_CPU __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
using vec8 = float __attribute__((vector_size(32)));

PS_FOR_CPU void spin_fma(size_t times, float* out) {
  vec8 sums[10];
  for (auto& sum : sums)
    sum = vec8{};
  const vec8 a = vec8{} + 0.5F;
  const vec8 b = vec8{} + out[0];
  for (size_t i = 0; i < times; ++i) {
#pragma GCC unroll 10
    for (auto& sum : sums)
      for (int lane = 0; lane < 8; ++lane)
        sum[lane] = __builtin_fmaf(sum[lane], a[lane], b[lane]);
  }
  for (const auto& sum : sums)
    for (int lane = 0; lane < 8; ++lane)
      out[1] += sum[lane];
}

PS_FOR_CPU void read_all(const float* data, size_t count, float* out) {
  vec8 sums[8];
  for (auto& sum : sums)
    sum = vec8{};
  for (size_t i = 0; i + 64 <= count; i += 64) {
#pragma GCC unroll 8
    for (size_t j = 0; j < 8; ++j) {
      vec8 v;
      std::memcpy(&v, data + i + j * 8, sizeof v);
      sums[j] += v;
    }
  }
  for (const auto& sum : sums)
    for (int lane = 0; lane < 8; ++lane)
      out[1] += sum[lane];
}

double fma_peak() {
  static const double peak = [] {
    float out[2] = {0.25F, 0.0F};
    constexpr size_t times = 1000000;
    const double rate = best_rate(2.0 * 8 * 10 * times, [&] { spin_fma(times, out); });
    benchmark::DoNotOptimize(out);
    return rate;
  }();
  return peak;
}

double read_peak() {
  static const double peak = [] {
    const std::vector<float> data(size_t{48} << 20U, 1.0F);
    float out[2] = {0.0F, 0.0F};
    const auto bytes = static_cast<double>(data.size() * sizeof(float));
    const double rate = best_rate(bytes, [&] { read_all(data.data(), data.size(), out); });
    benchmark::DoNotOptimize(out);
    return rate;
  }();
  return peak;
}

/// Matrices of N = K = 2048, enough of them that a pass over all comes from memory.
struct product_bench {
  static constexpr uint32_t size = 2048;
  std::vector<packed_matrix> matrices;
  std::vector<float> x;
  std::vector<float> out;

  product_bench(uint32_t rows, model::dtype type, uint32_t count)
    : x(size_t{rows} * size), out(size_t{rows} * size) {
    rng draws{1};
    for (auto& value : x)
      value = draws.unit() - 0.5F;
    const size_t bytes = size_t{size} * size * model::size_bytes_of(type);
    const auto data = std::make_unique<std::byte[]>(bytes);
    for (size_t i = 0; i < size_t{size} * size; ++i) {
      const float value = draws.unit() - 0.5F;
      const uint16_t half = model::f32_to_bf16(value);
      if (type == model::dtype::f32)
        std::memcpy(data.get() + 4 * i, &value, 4);
      else
        std::memcpy(data.get() + 2 * i, &half, 2);
    }
    const model::tensor_view view{data.get(), type, {size, size}};
    for (uint32_t i = 0; i < count; ++i)
      matrices.emplace_back(std::span{&view, 1});
  }

  product_args args(uint32_t matrix, uint32_t rows) {
    product_args a;
    a.x = x.data();
    a.x_stride = size;
    a.rows = rows;
    a.weights = matrices[matrix].data();
    a.dtype = matrices[matrix].dtype();
    a.depth = size;
    a.out = out.data();
    a.out_stride = size;
    a.panel_end = matrices[matrix].panels();
    return a;
  }

  /// Compares some panels of the first rows with the scalar path.
  bool is_right(const kernel_table& table, uint32_t rows) {
    auto a = args(0, std::min(rows, 3U));
    a.panel_end = 2;
    table.product(a);
    const std::vector<float> found(out.begin(), out.begin() + 32);
    scalar_kernels().product(a);
    return std::memcmp(found.data(), out.data(), 32 * sizeof(float)) == 0;
  }
};

/// Rows, then dtype.
void product(benchmark::State& state) {
  const auto rows = static_cast<uint32_t>(state.range(0));
  const auto type = static_cast<model::dtype>(state.range(1));
  const auto& table = **kernels_for(kernel_path::best);
  const uint32_t count = rows <= 16 ? 12 : 1;
  product_bench bench{rows, type, count};
  if (!bench.is_right(table, rows)) {
    state.SkipWithError("the kernel differs from the scalar path");
    return;
  }
  uint32_t next = 0;
  double best = 1e9;
  for ([[maybe_unused]] auto _ : state) {
    const double start = seconds_run();
    table.product(bench.args(next++ % count, rows));
    best = std::min(best, (seconds_run() - start));
  }
  const double flops = 2.0 * rows * product_bench::size * product_bench::size / best;
  const double bytes = static_cast<double>(bench.matrices[0].size_bytes()) / best;
  state.counters["best_gflops"] = flops / 1e9;
  state.counters["fma_peak_gflops"] = fma_peak() / 1e9;
  state.counters["share_fma"] = flops / fma_peak();
  state.counters["best_gbytes"] = bytes / 1e9;
  state.counters["share_read"] = bytes / read_peak();
  state.counters["read_peak_gbytes"] = read_peak() / 1e9;
  state.SetLabel(std::string(table.name));
}
BENCHMARK(product)
  ->ArgNames({"rows", "dtype"})
  ->ArgsProduct({{1, 2, 4, 8, 16, 64, 512}, {0, 2}})
  ->Unit(benchmark::kMicrosecond);

/// Keys, then tokens: 16 heads of 64 over 4 key heads.
void attention(benchmark::State& state) {
  const auto keys = static_cast<uint32_t>(state.range(0));
  const auto tokens = static_cast<uint32_t>(state.range(1));
  constexpr uint32_t head_dim = 64;
  constexpr uint32_t block_tokens = 32;
  const auto& table = **kernels_for(kernel_path::best);
  rng draws{2};
  std::vector<float> layer(size_t{keys} * head_dim * 4 * 2);
  std::vector<float> query(size_t{tokens} * 16 * head_dim);
  for (auto& value : layer)
    value = draws.unit() - 0.5F;
  for (auto& value : query)
    value = draws.unit() - 0.5F;
  std::vector<float> out(query.size());
  std::vector<float> scratch(attention_scratch_floats(head_dim));
  std::vector<uint32_t> blocks(keys / block_tokens);
  for (uint32_t i = 0; i < blocks.size(); ++i)
    blocks[i] = static_cast<uint32_t>(blocks.size()) - 1 - i;
  attention_args args;
  args.query = query.data();
  args.out = out.data();
  args.query_stride = args.out_stride = 16 * head_dim;
  args.tokens = tokens;
  args.first_position = keys - tokens;
  args.group = 4;
  args.head_dim = head_dim;
  args.scale = 0.125F;
  args.layer = layer.data();
  args.piece_floats = size_t{block_tokens} * head_dim * 4 * 2;
  args.block_tokens = block_tokens;
  args.blocks = blocks.data();
  args.scratch = scratch.data();
  scalar_kernels().attention(args);
  const auto expected = out;
  table.attention(args);
  if (std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)) != 0) {
    state.SkipWithError("the kernel differs from the scalar path");
    return;
  }
  double best = 1e9;
  for ([[maybe_unused]] auto _ : state) {
    const double start = seconds_run();
    for (args.key_head = 0; args.key_head < 4; ++args.key_head) {
      args.query_head = args.key_head * 4;
      table.attention(args);
    }
    best = std::min(best, (seconds_run() - start));
  }
  const double attended = (static_cast<double>(keys) - (tokens - 1) / 2.0) * tokens;
  state.counters["best_gflops"] = 4.0 * head_dim * 16 * attended / best / 1e9;
  state.counters["fma_peak_gflops"] = fma_peak() / 1e9;
  state.counters["kv_gbytes"] = static_cast<double>(layer.size() * sizeof(float)) / best / 1e9;
  state.SetLabel(std::string(table.name));
}
BENCHMARK(attention)
  ->ArgNames({"keys", "tokens"})
  ->Args({1024, 1})
  ->Args({8192, 1})
  ->Args({1024, 512})
  ->Unit(benchmark::kMicrosecond);

} // namespace
} // namespace penstock::gpu
