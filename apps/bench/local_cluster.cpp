#include "apps/bench/local_cluster.hpp"

#include "apps/builtin_model.hpp"
#include "base/clock.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace penstock::apps::bench {

namespace {

constexpr time_us start_us_max = 120'000'000;
constexpr time_us stop_us_max = 10'000'000;
constexpr int poll_ms = 100;
constexpr uint16_t port_first = 21'000;
constexpr uint16_t port_last = 31'999;

bool is_free(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return false;
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  close(fd);
  return bound;
}

/// @returns False if the node is gone.
bool wait_ready(child_process& node, time_us deadline, const std::function<bool()>& give_up) {
  steady_clock time;
  while (node.ready_fd() >= 0 && time.now() < deadline && !give_up()) {
    pollfd ready{node.ready_fd(), POLLIN, 0};
    if (poll(&ready, 1, poll_ms) > 0 && node.take_ready())
      return true;
  }
  return false;
}

bool reap(child_process& node, time_us deadline) {
  steady_clock time;
  for (;;) {
    auto got = waitpid(node.pid(), nullptr, WNOHANG);
    if (got != 0) {
      node.reaped();
      return true;
    }
    if (time.now() >= deadline)
      return false;
    poll(nullptr, 0, 5);
  }
}

} // namespace

result<local_cluster> local_cluster::start(const std::string& file,
                                           const std::vector<std::string>& nodes,
                                           const std::function<bool()>& give_up) {
  local_cluster out;
  for (const auto& name : nodes) {
    auto node
      = child_process::start({name, {executable_path(), "node", name, "--config", file}}, 0);
    if (!node)
      return node.err();
    out.nodes_.push_back(std::move(*node));
    out.names_.push_back(name);
  }
  auto deadline = steady_clock{}.now() + start_us_max;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (!wait_ready(out.nodes_[i], deadline, give_up))
      return error{errc::unavailable, "node " + nodes[i] + " did not start; what it said is above"};
  return out;
}

std::string local_cluster::ended() {
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].pid() <= 0 || reap(nodes_[i], 0))
      return names_[i];
  return {};
}

local_cluster::~local_cluster() {
  for (auto& node : nodes_)
    node.send_signal(SIGTERM);
  auto deadline = steady_clock{}.now() + stop_us_max;
  for (auto& node : nodes_)
    if (node.pid() > 0)
      reap(node, deadline); // What is left is killed by child_process.
}

result<std::vector<uint16_t>> free_ports(size_t count) {
  std::vector<uint16_t> out;
  // Two commands at a time begin in different places.
  auto from = static_cast<uint16_t>(port_first + getpid() % 1000 * 10);
  for (uint16_t port = from; port <= port_last && out.size() < count; ++port)
    if (is_free(port))
      out.push_back(port);
  if (out.size() < count)
    return error{errc::unavailable, "no free ports on loopback"};
  return out;
}

} // namespace penstock::apps::bench
