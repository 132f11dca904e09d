// What a request and a token cost between a client and a device: RPC, gateway, session, decode.
//
// All roles in one process, the real actors on real threads, an oracle device whose tokens cost
// next to nothing. Prompts of one token, so no KV moves. Answers are checked before anything is
// timed. Bound on paper: two RPC hops (26-62 us each) and about eight actor hops (2-16 us each).
#include "actors/node.hpp"
#include "actors/node_system.hpp"
#include "base/log.hpp"
#include "fabric/local_transport.hpp"
#include "fabric/transfer_types.hpp"
#include "schema/rpc_client.hpp"
#include "schema/rpc_server.hpp"
#include "tests/support/oracle_device.hpp"

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <thread>

namespace penstock {
namespace {

constexpr gpu::oracle_rules rules{500, 2, 0, 1, 1, 2, 16};
constexpr uint32_t rows = 16;
constexpr uint32_t context = 512;
constexpr uint32_t blocks = rows * context / 16;

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

/// A node with every role, and the RPC server in front of it.
class null_cluster {
public:
  null_cluster() {
    log::set_level(log::level::error);
    node_ = std::make_unique<actors::node>(system_.caf(), parts());
    service_ = std::make_unique<actors::gateway_service>(node_->gateway(), node_->world(),
                                                         schema::service_info{});
    server_ = std::make_unique<schema::rpc_server>(*service_, schema::rpc_server_options{});
    address = "127.0.0.1:" + std::to_string(*server_->start());
  }
  ~null_cluster() {
    server_.reset();
    service_.reset();
    system_.expect_the_end();
    node_->stop();
  }

  std::string address;

private:
  actors::node_parts parts() {
    auto compiled = actors::guardrail_rules::compile({}, {1000, false}, time_);
    actors::node_parts p;
    p.self = {0, 1};
    p.node_names = {"all"};
    p.links.push_back(nullptr);
    p.identity.node = "all";
    p.identity.ready = true;
    p.identity.roles = {schema::role::gateway, schema::role::prefill, schema::role::decode};
    p.time = &time_;
    p.rows_max = rows;
    p.beat_every = std::chrono::milliseconds{20};
    p.gateway.emplace();
    p.gateway->world.time = &time_;
    p.gateway->world.tokens = &tokenizer_;
    p.gateway->world.context_tokens = context;
    p.gateway->world.end_ids = {rules.end};
    p.gateway->world.node_names = p.node_names;
    p.gateway->world.tokens_max = context;
    p.gateway->world.budget_us_max = 60'000'000;
    p.gateway->admission = {1'000'000, 1024, 60'000'000};
    p.gateway->rules = std::make_shared<const actors::guardrail_rules>(std::move(*compiled));
    p.prefill.emplace();
    p.prefill->device = &prefill_device_;
    p.prefill->pool = &prefill_pool_;
    p.prefill->cache = &prefill_cache_;
    p.prefill->limits = {rows, 256, 64, rules.block_tokens};
    p.decode.emplace();
    p.decode->device = &device_;
    p.decode->pool = &pool_;
    p.decode->cache = &cache_;
    p.decode->limits = {rows, 64, context, rules.block_tokens};
    p.decode->mover.device = &device_;
    p.decode->mover.scratch = scratch_;
    p.decode->mover.transports = {&transport_};
    p.decode->mover.time = &time_;
    p.decode->mover.probe_for = [](std::string_view) { return ops::transfer_probe{}; };
    return p;
  }

  steady_clock time_;
  model::tokenizer tokenizer_{
    *model::tokenizer::open(PENSTOCK_SOURCE_DIR "/model/builtin/tokenizer.json")};
  std::vector<uint64_t> generations_ = std::vector<uint64_t>(blocks);
  std::vector<uint64_t> prefill_generations_ = std::vector<uint64_t>(blocks);
  gpu::block_pool pool_{generations_};
  gpu::block_pool prefill_pool_{prefill_generations_};
  gpu::prefix_cache cache_{pool_, rules.block_tokens};
  gpu::prefix_cache prefill_cache_{prefill_pool_, rules.block_tokens};
  gpu::oracle_device device_{rules, {rows, rows, context}, blocks};
  gpu::oracle_device prefill_device_{rules, {rows, 256, context}, blocks};
  std::vector<std::byte> scratch_
    = std::vector<std::byte>(actors::kv_flows::scratch_bytes_for(rows, 8));
  fabric::local_fabric fabric_;
  fabric::local_transport transport_{fabric_};
  std::unique_ptr<actors::node> node_;
  std::unique_ptr<actors::gateway_service> service_;
  std::unique_ptr<schema::rpc_server> server_;
  actors::node_system system_; // Goes first: waits for the actors, which use all above.
};

generate_request request_for(token_id first, uint32_t tokens) {
  generate_request r;
  r.prompt_ids = {first};
  r.sampling.tokens_max = tokens;
  r.budget_us = 30'000'000;
  return r;
}

std::vector<token_id> expected(const generate_request& r) {
  return gpu::oracle_answer(rules, r.prompt_ids, r.sampling);
}

/// @returns The ids that came, none after a failure.
std::vector<token_id> ask(schema::rpc_client& client, const generate_request& r) {
  std::vector<token_id> got;
  auto outcome = client.generate(r, [&got](std::span<const generated_token> t, std::string_view) {
    for (const auto& one : t)
      got.push_back(one.id);
    return true;
  });
  if (!outcome || outcome->code != errc::ok)
    got.clear();
  return got;
}

void one_token_request(benchmark::State& state) {
  null_cluster cluster;
  auto client = schema::rpc_client::connect(cluster.address, std::chrono::seconds{10});
  const auto request = request_for(7, 1);
  const auto right = expected(request);
  if (!client || ask(**client, request) != right) {
    state.SkipWithError("wrong answer");
    return;
  }
  std::vector<double> us;
  bool all_right = true;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    all_right = ask(**client, request) == right && all_right;
    std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    us.push_back(took.count());
  }
  if (!all_right)
    state.SkipWithError("wrong answer");
  std::sort(us.begin(), us.end());
  state.counters["p50_us"] = us[us.size() / 2];
  state.counters["p99_us"] = us[us.size() * 99 / 100];
}

/// One client of streams().
struct reader {
  std::unique_ptr<schema::rpc_client> client;
  generate_request request;
  std::vector<token_id> right;
  bool all_right = true;

  void read() { all_right = ask(*client, request) == right && all_right; }
};

std::vector<reader> connected(const std::string& address, uint32_t count, uint32_t tokens) {
  std::vector<reader> all(count);
  for (auto& r : all) {
    auto client = schema::rpc_client::connect(address, std::chrono::seconds{10});
    PS_CHECK(static_cast<bool>(client));
    r.client = std::move(*client);
    r.request = request_for(static_cast<token_id>(10 + (&r - all.data())), tokens);
    r.right = expected(r.request);
    r.read();
  }
  return all;
}

void streams(benchmark::State& state) {
  constexpr uint32_t tokens = 256;
  auto count = static_cast<uint32_t>(state.range(0));
  null_cluster cluster;
  auto readers = connected(cluster.address, count, tokens);
  auto cpu = cpu_seconds();
  for (auto _ : state) {
    std::vector<std::thread> threads;
    for (auto& r : readers)
      threads.emplace_back([&r] { r.read(); });
    for (auto& t : threads)
      t.join();
  }
  auto used = cpu_seconds() - cpu;
  for (const auto& r : readers)
    if (!r.all_right)
      state.SkipWithError("wrong answer");
  auto generated = static_cast<double>(state.iterations()) * count * tokens;
  state.counters["tokens/s"] = benchmark::Counter(generated, benchmark::Counter::kIsRate);
  state.counters["cpu_us/token"] = used * 1e6 / generated;
}

/// What of streams() is the null device itself: steps of so many rows, in mid-answer.
void null_device_step(benchmark::State& state) {
  gpu::oracle_device device{rules, {rows, rows, context}, blocks};
  gpu::step work{0, {}};
  for (uint32_t slot = 0; slot < state.range(0); ++slot) {
    gpu::row_run row;
    row.slot = slot;
    row.position = 128;
    row.tokens = {7};
    row.sample = true;
    for (uint32_t block = 0; block < context / 16; ++block)
      row.blocks.push_back(slot * (context / 16) + block);
    work.rows.push_back(std::move(row));
  }
  for (auto _ : state)
    device.submit(work, [](const gpu::step_output& out) { benchmark::DoNotOptimize(&out); });
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(null_device_step)->Arg(1)->Arg(16);
BENCHMARK(one_token_request)->UseRealTime();
BENCHMARK(streams)->Arg(1)->Arg(16)->UseRealTime()->Unit(benchmark::kMillisecond);

} // namespace
} // namespace penstock
