// Two hundred requests, sixteen at a time, one in ten given up mid-stream: all end, nothing leaks.
#include "cluster.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

namespace penstock::e2e {
namespace {

constexpr int requests = 200;
constexpr int at_a_time = 16;

std::string prompt_of(int i) {
  std::string text = "The old prince";
  for (int words = 0; words < i * 7 % 40; ++words)
    text += " and the war";
  return text;
}

std::vector<std::string> arguments_of(int i) {
  return {"--max-tokens", std::to_string(1 + i * 13 % 48), "--seed", std::to_string(i), "--",
          prompt_of(i)};
}

struct tally {
  std::mutex lock;
  int answered = 0;
  int cancelled = 0;
  std::map<int, std::string> answers;
};

void one_request(cluster& c, int i, tally& t) {
  if (i % 10 == 3) {
    auto command = c.ask_command(
      {"--max-tokens", "200", "--ignore-end", "--temperature", "1", "--", prompt_of(i)});
    process p{command};
    p.read_until([](const finished& f) { return !f.out.empty(); });
    p.send_signal(i % 20 == 3 ? SIGINT : SIGKILL); // Politely, and by vanishing.
    p.wait();
    std::lock_guard hold{t.lock};
    ++t.cancelled;
    return;
  }
  auto a = c.ask(arguments_of(i));
  std::lock_guard hold{t.lock};
  t.answered += a["exit_code"] == 0 ? 1 : 0;
  t.answers[i] = fingerprint(a);
}

/// Rule 2, read from a node's metrics: nothing is held, and the states sum to the capacity.
bool is_at_rest(const std::map<std::string, double>& metrics, double capacity) {
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
  return total == capacity;
}

TEST(load, all_requests_end_and_no_block_is_lost) {
  cluster c;
  tally t;
  std::atomic<int> next{0};
  std::vector<std::thread> clients;
  for (int k = 0; k < at_a_time; ++k)
    clients.emplace_back([&c, &t, &next] {
      for (int i = 0; (i = next.fetch_add(1)) < requests;)
        one_request(c, i, t);
    });
  for (auto& client : clients)
    client.join();
  EXPECT_EQ(t.cancelled, requests / 10);
  EXPECT_EQ(t.answered, requests - requests / 10);

  for (const char* node : {"p0", "d0"}) {
    // A vanished client is noticed when its connection breaks: a matter of milliseconds, bounded
    // here by tries, each of which is a round trip to the node.
    bool at_rest = false;
    for (int tries = 0; tries < 2000 && !at_rest; ++tries)
      at_rest = is_at_rest(c.metrics_of(node), 256);
    EXPECT_TRUE(at_rest) << node << ": " << testing::PrintToString(c.metrics_of(node));
  }
  for (int i : {0, 57, 121, 199}) {
    auto alone = fingerprint(oracle("builtin", arguments_of(i)));
    EXPECT_EQ(t.answers[i], alone) << "request " << i << " was changed by its company";
  }
  EXPECT_EQ(c.ask({"--max-tokens", "2", "--", "Still here"})["exit_code"], 0);
}

} // namespace
} // namespace penstock::e2e
