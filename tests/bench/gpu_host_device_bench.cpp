// Prefill and decode tokens/s of the host device on a mid-size random model, and what they mean.
//
// 50 M parameters in bf16, so that decode's weights (100 MB) come from memory. `gflops` counts the
// matrices only; `weight_gbytes` is the bytes of weights a step reads.
#include "base/clock.hpp"
#include "gpu/host_device.hpp"
#include "model/tiny.hpp"

#include <benchmark/benchmark.h>

#include <memory>

namespace penstock::gpu {
namespace {

model::model_config mid_config() {
  auto config = model::tiny_config();
  config.hidden = 768;
  config.intermediate = 2048;
  config.layers = 6;
  config.heads = 12;
  config.kv_heads = 4;
  config.head_dim = 64;
  config.vocab = 8192;
  config.context = 2048;
  return config;
}

/// Weights that every run shares; built once.
const model::tiny_model& mid_model() {
  static const model::tiny_model made = model::make_tiny(mid_config(), model::dtype::bf16, 1);
  return made;
}

struct bench_device {
  host_options options;
  std::vector<float> pool;
  steady_clock time;
  std::unique_ptr<host_device> device;

  bench_device(uint32_t threads, uint32_t rows) {
    options.threads = threads;
    options.row_slots = rows;
    options.step_tokens_max = 512;
    options.context_max = 1024;
    options.block_tokens = 32;
    options.blocks = rows * 32;
    const auto& config = mid_model().config;
    pool.resize(layout_of(config, options).pool_bytes() / sizeof(float));
    device = std::make_unique<host_device>(config, mid_model().weights, options,
                                           std::as_writable_bytes(std::span(pool)),
                                           **kernels_for(kernel_path::best), time);
  }
  [[nodiscard]] row_run row(uint32_t slot, uint32_t position, uint32_t count, bool sample) const {
    row_run out;
    out.slot = slot;
    out.position = position;
    out.sample = sample;
    for (uint32_t i = 0; i < count; ++i)
      out.tokens.push_back((position + i * 7 + slot) % mid_model().config.vocab);
    for (uint32_t i = 0; i < 32; ++i)
      out.blocks.push_back(slot * 32 + i);
    return out;
  }
  step_output run(step work) {
    step_output out;
    device->submit(std::move(work), [&](step_output done) { out = std::move(done); });
    return out;
  }
};

/// @returns Multiply-adds of the matrices of one layer stack for one token.
double matrix_work() {
  const auto& c = mid_model().config;
  return static_cast<double>(c.layers) * c.hidden
         * ((2.0 * c.heads + 2.0 * c.kv_heads) * c.head_dim + 3.0 * c.intermediate);
}

/// Threads, then tokens of the chunk.
void prefill(benchmark::State& state) {
  bench_device bench{static_cast<uint32_t>(state.range(0)), 1};
  const auto tokens = static_cast<uint32_t>(state.range(1));
  const auto once = bench.run({0, {bench.row(0, 0, tokens, true)}});
  if (once.code != errc::ok) {
    state.SkipWithError(once.detail.c_str());
    return;
  }
  for ([[maybe_unused]] auto _ : state)
    if (bench.run({0, {bench.row(0, 0, tokens, true)}}).logits_hash != once.logits_hash)
      state.SkipWithError("a run differs from the first");
  const auto fed = static_cast<double>(state.iterations()) * tokens;
  state.counters["tokens"] = benchmark::Counter(fed, benchmark::Counter::kIsRate);
  state.counters["gflops"]
    = benchmark::Counter(fed * 2.0 * matrix_work() / 1e9, benchmark::Counter::kIsRate);
}
BENCHMARK(prefill)
  ->ArgNames({"threads", "tokens"})
  ->ArgsProduct({{1, 2}, {64, 512}})
  ->UseRealTime()
  ->Unit(benchmark::kMillisecond);

/// Threads, then rows, each with 256 tokens of context.
void decode(benchmark::State& state) {
  const auto rows = static_cast<uint32_t>(state.range(1));
  bench_device bench{static_cast<uint32_t>(state.range(0)), rows};
  for (uint32_t slot = 0; slot < rows; ++slot)
    (void)bench.run({0, {bench.row(slot, 0, 256, false)}});
  step work{0, {}};
  for (uint32_t slot = 0; slot < rows; ++slot)
    work.rows.push_back(bench.row(slot, 256, 1, true));
  const auto once = bench.run(work);
  if (once.code != errc::ok) {
    state.SkipWithError(once.detail.c_str());
    return;
  }
  for ([[maybe_unused]] auto _ : state)
    if (bench.run(work).logits_hash != once.logits_hash)
      state.SkipWithError("a run differs from the first");
  const auto steps = static_cast<double>(state.iterations());
  const auto bytes = memory_of(mid_model().config, mid_model().weights, bench.options).weights;
  state.counters["tokens"] = benchmark::Counter(steps * rows, benchmark::Counter::kIsRate);
  state.counters["weight_gbytes"]
    = benchmark::Counter(steps * static_cast<double>(bytes) / 1e9, benchmark::Counter::kIsRate);
}
BENCHMARK(decode)
  ->ArgNames({"threads", "rows"})
  ->ArgsProduct({{1, 2}, {1, 4, 16}})
  ->UseRealTime()
  ->Unit(benchmark::kMillisecond);

} // namespace
} // namespace penstock::gpu
