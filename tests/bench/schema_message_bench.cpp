// Cost of a message between roles: encode, decode, and the header alone.
//
// Bound: the bytes are written once and read once, at memory speed (~10 GB/s on one core): a book
// of 100 ids is 0.6 KiB, about 60 ns; the rest is allocation and Cap'n Proto's pointer checks.
#include "base/check.hpp"
#include "schema/message.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace {

using namespace penstock;
using namespace penstock::schema;

body book_of(size_t ids) {
  book b;
  for (size_t i = 0; i < ids; ++i)
    b.tokens.push_back(static_cast<token_id>(i * 31));
  b.prompt_tokens = static_cast<uint32_t>(ids);
  b.end_ids = {1, 2};
  return b;
}

body step_of(size_t rows) {
  tokens b;
  for (size_t i = 0; i < rows; ++i)
    b.rows.push_back({i + 1, 1, 7, {{static_cast<token_id>(i), -0.5F}}, false, {}});
  return b;
}

body body_of(const benchmark::State& state) {
  return state.range(0) == 0 ? book_of(static_cast<size_t>(state.range(1)))
                             : step_of(static_cast<size_t>(state.range(1)));
}

void check(const message& m, const body& b) {
  auto opened = decode(m);
  PS_CHECK(opened);
  PS_CHECK(opened->body.index() == b.index());
  PS_CHECK(std::ranges::equal(encode(opened->header, opened->body).bytes(), m.bytes()));
}

void report(benchmark::State& state, const message& m) {
  state.SetBytesProcessed(static_cast<int64_t>(m.size_bytes()) * state.iterations());
  state.counters["message_bytes"] = static_cast<double>(m.size_bytes());
}

void message_encode(benchmark::State& state) {
  auto b = body_of(state);
  check(encode({}, b), b);
  for (auto _ : state)
    benchmark::DoNotOptimize(encode({}, b));
  report(state, encode({}, b));
}

void message_decode(benchmark::State& state) {
  auto b = body_of(state);
  auto m = encode({}, b);
  check(m, b);
  for (auto _ : state)
    benchmark::DoNotOptimize(decode(m));
  report(state, m);
}

void message_decode_header(benchmark::State& state) {
  auto m = encode({}, body_of(state));
  PS_CHECK(decode_header(m));
  for (auto _ : state)
    benchmark::DoNotOptimize(decode_header(m));
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"tokens", "count"});
  for (auto ids : {100, 4096, 65536})
    b->Args({0, ids});
  for (auto rows : {1, 16, 64})
    b->Args({1, rows});
}

BENCHMARK(message_encode)->Apply(shapes);
BENCHMARK(message_decode)->Apply(shapes);
BENCHMARK(message_decode_header)->ArgNames({"tokens", "count"})->Args({0, 100});

} // namespace
