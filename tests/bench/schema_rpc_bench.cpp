// The RPC edge alone, over loopback, with a service that does nothing: round trips, and the cost
// of a token.
//
// Bound: a round trip is four thread wake-ups and four system calls on each side, 30-60 us on two
// shared cores. A token is 8 bytes and its text; what costs is the push (a message and its system
// calls, ~15 us), shared by all tokens that gathered.
#include "base/check.hpp"
#include "schema/rpc_client.hpp"
#include "schema/rpc_server.hpp"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

using namespace penstock;
using namespace penstock::schema;
using namespace std::chrono_literals;

// Answers in generate() itself, or from a thread, one token at a time, as an actor would.
class null_service final : public inference_service {
public:
  explicit null_service(bool threaded) : threaded_(threaded) {}
  ~null_service() override {
    for (auto& t : threads_)
      t.join();
  }

  request_id generate(generate_request request, std::shared_ptr<token_sink> sink) override {
    auto answer = [this, sink = std::move(sink), count = request.sampling.tokens_max] {
      for (uint32_t i = 0; i < count; ++i) {
        generated_token t{i, -0.5F};
        sink->push({&t, 1}, " word");
        if (lockstep)
          seen.wait(i);
      }
      generate_outcome out;
      out.reason = finish_reason::length;
      sink->done(out);
    };
    if (threaded_)
      threads_.emplace_back(std::move(answer));
    else
      answer();
    return ++last_;
  }
  void cancel(request_id /*request*/) override {}
  [[nodiscard]] service_info info() const override { return {}; }

  bool lockstep = false;         // The next token only after the client has this one.
  std::atomic<uint32_t> seen{0}; // By the client.

private:
  bool threaded_;
  std::vector<std::thread> threads_; // The server's thread adds; joined after it has ended.
  request_id last_ = 0;
};

struct rig {
  explicit rig(bool threaded) : service(threaded), server(service, {}) {
    auto port = server.start();
    PS_CHECK(port);
    auto reached = rpc_client::connect("127.0.0.1:" + std::to_string(*port), 10s);
    PS_CHECK(reached);
    client = std::move(*reached);
  }
  null_service service;
  rpc_server server;
  std::unique_ptr<rpc_client> client;
};

double cpu_us() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(u.ru_utime) + us(u.ru_stime);
}

generate_request request_of(uint32_t tokens) {
  generate_request r;
  r.prompt = "Once upon a time";
  r.sampling.tokens_max = tokens;
  r.budget_us = 60'000'000;
  return r;
}

// One request; checks what came.
uint64_t run(rig& r, uint32_t count, uint64_t& pushes) {
  uint32_t next = 0;
  r.service.seen = 0;
  auto outcome = r.client->generate(request_of(count), [&](auto tokens, std::string_view text) {
    PS_CHECK(text.size() == tokens.size() * 5);
    for (const auto& t : tokens)
      PS_CHECK(t.id == next++);
    ++pushes;
    r.service.seen = next;
    r.service.seen.notify_one();
    return true;
  });
  PS_CHECK(outcome && outcome->reason == finish_reason::length && next == count);
  return next;
}

void rpc_round_trip(benchmark::State& state) {
  rig r{false};
  std::vector<double> took_us;
  uint64_t pushes = 0;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    run(r, 1, pushes);
    took_us.push_back(
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::sort(took_us);
  state.counters["p50_us"] = took_us[took_us.size() / 2];
  state.counters["p99_us"] = took_us[took_us.size() * 99 / 100];
}

void rpc_tokens(benchmark::State& state) {
  rig r{true};
  auto count = static_cast<uint32_t>(state.range(0));
  r.service.lockstep = state.range(1) != 0;
  uint64_t tokens = 0;
  uint64_t pushes = 0;
  auto before_us = cpu_us();
  for (auto _ : state)
    tokens += run(r, count, pushes);
  auto per_token = 1.0 / static_cast<double>(tokens);
  state.counters["tokens_per_s"]
    = benchmark::Counter(static_cast<double>(tokens), benchmark::Counter::kIsRate);
  state.counters["cpu_us_per_token"] = (cpu_us() - before_us) * per_token;
  state.counters["tokens_per_push"] = static_cast<double>(tokens) / static_cast<double>(pushes);
}

BENCHMARK(rpc_round_trip)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(rpc_tokens)
  ->ArgNames({"tokens", "lockstep"})
  ->Args({256, 1})
  ->Args({64, 0})
  ->Args({1024, 0})
  ->Args({65536, 0})
  ->UseRealTime()
  ->Unit(benchmark::kMicrosecond);

} // namespace
