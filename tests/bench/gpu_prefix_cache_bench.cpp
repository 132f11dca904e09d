// What finding a prefix costs: in the pool, per block; in host memory, bytes per second.
//
// Restoring swaps two prompts through a pool that holds one: each lookup copies every block in and
// one out for it. Beside it, in turns, memcpy of as many bytes between two buffers, a piece at a
// time. Counters: moved and bound in GB/s, ratio = moved / bound; ns_per_block of a lookup.
#include "gpu/prefix_cache.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <numeric>

namespace penstock::gpu {
namespace {

constexpr uint32_t blocks = 32;
constexpr uint32_t block_tokens = 16;
using token_list = std::vector<token_id>;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

token_list prompt_of(token_id kind) {
  token_list ids(size_t{blocks} * block_tokens);
  std::iota(ids.begin(), ids.end(), kind * 1'000'000);
  return ids;
}

struct rig {
  kv_layout layout;
  std::vector<std::byte> memory;
  std::vector<uint64_t> generations = std::vector<uint64_t>(blocks);
  block_pool pool{generations};
  block_copier copier;
  host_tier tier;
  prefix_cache cache;

  rig(uint32_t layers, uint32_t kv_heads)
    : layout{layers, kv_heads, 64, block_tokens, blocks, kv_dtype::f32},
      memory(layout.pool_bytes()), copier{memory, layout},
      tier{copier, blocks * copier.block_bytes()}, cache{pool, block_tokens, &tier} {}

  void enter(token_id kind) {
    auto held = *cache.acquire(blocks);
    for (auto block : held.blocks())
      for (uint32_t layer = 0; layer < layout.layers; ++layer)
        std::fill_n(memory.begin() + static_cast<ptrdiff_t>(layout.piece_offset(layer, block)),
                    layout.piece_bytes(), static_cast<std::byte>(kind));
    cache.insert(prompt_of(kind), held.blocks());
  }
  /// @returns Whether the whole prompt came back from host memory with its bytes.
  bool is_back(token_id kind, const prefix_hit& hit) {
    return hit.from_host == blocks && hit.blocks().size() == blocks
           && std::all_of(memory.begin(), memory.end(),
                          [kind](std::byte b) { return b == static_cast<std::byte>(kind); });
  }
};

/// @param state Layers, KV heads of 64 dimensions.
void restore_from_host(benchmark::State& state) {
  rig r{static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1))};
  r.enter(1);
  r.enter(2);
  for (token_id kind : {1U, 2U})
    if (!r.is_back(kind, r.cache.find(prompt_of(kind), blocks * block_tokens)))
      return state.SkipWithError("other bytes came back than went");
  std::vector<std::byte> from(r.memory.size(), std::byte{1});
  // Half a page aside: at equal offsets in a page, loads wait for stores that only look the same.
  std::vector<std::byte> room(r.memory.size() + 2048);
  auto to = std::span{room}.subspan(2048);
  const token_list prompts[] = {prompt_of(1), prompt_of(2)};
  const auto piece = r.layout.piece_bytes();
  double moving = 0, copying = 0;
  size_t turn = 0;
  for (auto _ : state) {
    auto start = seconds();
    auto hit = r.cache.find(prompts[turn++ % 2], blocks * block_tokens);
    benchmark::DoNotOptimize(hit.from_host);
    moving += seconds() - start;
    start = seconds();
    for (size_t at = 0; at < from.size(); at += piece)
      std::memcpy(to.data() + at, from.data() + at, piece);
    for (size_t at = 0; at < from.size(); at += piece)
      std::memcpy(from.data() + at, to.data() + at, piece);
    benchmark::ClobberMemory();
    copying += seconds() - start;
  }
  auto bytes = 2.0 * static_cast<double>(from.size()) * static_cast<double>(state.iterations());
  state.counters["piece_KiB"] = static_cast<double>(piece) / 1024;
  state.counters["block_KiB"] = static_cast<double>(r.copier.block_bytes()) / 1024;
  state.counters["moved_GB_s"] = bytes / moving * 1e-9;
  state.counters["bound_GB_s"] = bytes / copying * 1e-9;
  state.counters["ratio"] = copying / moving;
}
BENCHMARK(restore_from_host)
  ->Args({2, 1})
  ->Args({6, 2})
  ->Args({12, 12})
  ->Unit(benchmark::kMillisecond);

void find_in_pool(benchmark::State& state) {
  rig r{1, 1};
  r.enter(1);
  auto prompt = prompt_of(1);
  if (r.cache.find(prompt, blocks * block_tokens).blocks().size() != blocks)
    return state.SkipWithError("the prompt is not found");
  auto start = seconds();
  for (auto _ : state) {
    auto hit = r.cache.find(prompt, blocks * block_tokens);
    benchmark::DoNotOptimize(hit.blocks().data());
  }
  state.counters["ns_per_block"]
    = (seconds() - start) * 1e9 / (static_cast<double>(state.iterations()) * blocks);
}
BENCHMARK(find_in_pool);

} // namespace
} // namespace penstock::gpu
