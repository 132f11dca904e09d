// Many short requests over RPC, some given up, some whose client vanishes: at the end nothing is
// held and no process has grown. PENSTOCK_SOAK_REQUESTS=10000 for the long mode.
#include "base/rng.hpp"
#include "cluster.hpp"
#include "schema/rpc_client.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace penstock::e2e {
namespace {

constexpr int clients = 12;
constexpr uint32_t kv_blocks = 96; // Few, so that requests wait for blocks and caches evict.
#ifdef __SANITIZE_ADDRESS__        // Keeps freed memory for a while, and takes its time.
constexpr int requests_usual = 300;
constexpr long growth_kib_max = 1 << 20;
#else
constexpr int requests_usual = 1000;
/// What a process may grow by after the warm-up: in the long mode 300 bytes per request.
constexpr long growth_kib_max = 1536;
#endif

struct shape {
  const char* name;
  bool colocated;
};

void PrintTo(const shape& s, std::ostream* out) {
  *out << s.name;
}

struct tally {
  std::atomic<int> complete{0};
  std::atomic<int> cancelled{0};
  std::atomic<int> vanished{0};
  std::atomic<int> failed{0};
};

int requests() {
  const auto* many = std::getenv("PENSTOCK_SOAK_REQUESTS");
  return many != nullptr ? std::atoi(many) : requests_usual;
}

generate_request draw_request(rng& draw) {
  static const char* const words[]{"The", "old",   "prince",  "and",
                                   "war", "peace", "Natasha", "said"};
  generate_request r;
  r.prompt = draw.below(2) == 0 ? "The old prince was asleep and nobody dared to wake him." : "";
  for (auto count = 1 + draw.below(40); count > 0; --count)
    r.prompt += std::string{" "} + words[draw.below(std::size(words))];
  r.sampling.tokens_max = static_cast<uint32_t>(1 + draw.below(32));
  r.sampling.temperature = draw.below(2) == 0 ? 0.0F : 1.0F;
  r.sampling.seed = draw.next();
  r.budget_us = 30'000'000;
  return r;
}

/// A client process that is killed after its first token, or before.
void vanish(cluster& c, rng& draw) {
  auto r = draw_request(draw);
  process p{c.ask_command({"--max-tokens", "200", "--ignore-end", "--", r.prompt})};
  if (draw.below(2) == 0)
    p.read_until([](const finished& f) { return !f.out.empty(); });
  p.send_signal(SIGKILL);
  p.wait();
}

void ask_once(schema::rpc_client& client, rng& draw, tally& t) {
  auto r = draw_request(draw);
  auto kept = draw.below(8) == 0 ? draw.below(r.sampling.tokens_max) : r.sampling.tokens_max + 1;
  uint64_t got = 0;
  auto ended = client.generate(r, [&got, kept](std::span<const generated_token> fresh, auto) {
    got += fresh.size();
    return got <= kept;
  });
  bool gave_up = ended && ended->reason == finish_reason::cancelled;
  if (!ended || (ended->code != errc::ok && !gave_up)) {
    ADD_FAILURE() << (ended ? ended->detail : ended.err().text());
    ++t.failed;
  } else {
    ++(gave_up ? t.cancelled : t.complete);
  }
}

/// Runs requests first to last on `clients` connections, and cancels at moments of its own.
void run(cluster& c, int first, int last, tally& t) {
  std::atomic<int> next{first};
  std::atomic<int> busy{clients};
  std::vector<std::unique_ptr<schema::rpc_client>> connections;
  std::vector<std::thread> workers;
  for (int k = 0; k < clients; ++k) {
    auto connected = schema::rpc_client::connect(c.address(), std::chrono::seconds{10});
    ASSERT_TRUE(connected) << connected.err().text();
    connections.push_back(std::move(*connected));
  }
  for (auto& connection : connections)
    workers.emplace_back([&c, &t, &next, &busy, last, client = connection.get()] {
      for (int i = 0; (i = next.fetch_add(1)) < last;) {
        rng draw{static_cast<uint64_t>(i)};
        if (draw.below(25) == 0) {
          vanish(c, draw);
          ++t.vanished;
        } else {
          ask_once(*client, draw, t);
        }
      }
      --busy;
    });
  rng draw{static_cast<uint64_t>(first) + 1};
  while (busy > 0) {
    connections[draw.below(connections.size())]->cancel();
    std::this_thread::sleep_for(std::chrono::milliseconds{20 + draw.below(60)}); // Its pace.
  }
  for (auto& worker : workers)
    worker.join();
}

bool is_at_rest(const std::map<std::string, double>& metrics) {
  double total = 0;
  for (const auto& [name, value] : metrics) {
    if (name.rfind("penstock_kv_pool_blocks", 0) != 0)
      continue;
    total += value;
    bool held
      = name.find("leased") != std::string::npos || name.find("quarantined") != std::string::npos;
    if (held && value != 0)
      return false;
  }
  return total > 0;
}

void expect_rest(const cluster& c) {
  for (const auto& node : c.nodes()) {
    if (node == "g0")
      continue;
    bool rests = false;
    for (int tries = 0; tries < 2000 && !rests; ++tries) // Each a round trip to the node.
      rests = is_at_rest(c.metrics_of(node));
    EXPECT_TRUE(rests) << node << ": " << testing::PrintToString(c.metrics_of(node));
  }
  auto gateway = c.metrics_of("g0");
  EXPECT_EQ(gateway["penstock_request_open_requests"], 0);
  EXPECT_EQ(gateway["penstock_admission_in_flight_tokens"], 0);
}

long resident_kib(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmRSS:", 0) == 0)
      return std::strtol(line.c_str() + 6, nullptr, 10);
  return 0;
}

class soak : public testing::TestWithParam<shape> {};

TEST_P(soak, nothing_is_held_and_nobody_has_grown_after_many_requests) {
  cluster_options options;
  options.kv_blocks = kv_blocks;
  options.colocated = GetParam().colocated;
  options.more = "[log]\nlevel = \"error\"\n"; // Nobody reads it for so long.
  cluster c{options};
  int count = requests();
  tally t;
  auto began = std::chrono::steady_clock::now();
  run(c, 0, count / 2, t); // The warm-up: pools, caches and arenas fill.
  ASSERT_FALSE(HasFailure());
  expect_rest(c);
  std::map<std::string, long> before;
  for (const auto& node : c.nodes())
    before[node] = resident_kib(c.pid_of(node));
  run(c, count / 2, count, t);
  expect_rest(c);
  for (const auto& node : c.nodes()) {
    auto after = resident_kib(c.pid_of(node));
    std::printf("%s: %ld KiB after the warm-up, %ld at the end\n", node.c_str(), before[node],
                after);
    EXPECT_LE(after, before[node] + growth_kib_max) << node;
    EXPECT_EQ(c.metrics_of(node)["penstock_node_restarts_total"], 0) << node;
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%d complete, %d cancelled, %d clients vanished, %d failed, %.1f s\n",
              t.complete.load(), t.cancelled.load(), t.vanished.load(), t.failed.load(),
              took.count());
  EXPECT_EQ(t.failed, 0);
  EXPECT_GT(t.cancelled, 0);
  EXPECT_GT(t.vanished, 0);
}

INSTANTIATE_TEST_SUITE_P(shapes, soak, testing::Values(shape{"split", false}),
                         [](const auto& with) { return std::string{with.param.name}; });

} // namespace
} // namespace penstock::e2e
