#include "cluster.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

namespace penstock::e2e {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

sockaddr_in loopback(uint16_t port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return to;
}

bool is_free(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto at = loopback(port);
  bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
  close(fd);
  return bound;
}

/// Below the range the system takes from for outgoing connections, which could collide later.
uint16_t next_free_port() {
  static auto port = static_cast<uint16_t>(20'000 + getpid() % 1000 * 10);
  do
    port = port < 31'000 ? static_cast<uint16_t>(port + 1) : uint16_t{20'000};
  while (!is_free(port));
  return port;
}

/// Names with their roles.
std::vector<std::pair<std::string, std::string>> nodes_of(const cluster_options& options) {
  if (options.colocated)
    return {{"g0", "\"gateway\""}, {"c0", "\"prefill\", \"decode\""}};
  return {{"g0", "\"gateway\""}, {"p0", "\"prefill\""}, {"d0", "\"decode\""}};
}

std::string file_text(const cluster_options& options, std::map<std::string, uint16_t>& ports) {
  auto at = [&ports](const std::string& what) {
    return "\"127.0.0.1:" + std::to_string(ports[what] = next_free_port()) + "\"\n";
  };
  std::ostringstream out;
  out << "[cluster]\nname = \"e2e\"\nmodel = \"" << options.model << "\"\n"
      << options.cluster_keys << "\n";
  for (const auto& [name, roles] : nodes_of(options)) {
    bool gateway = roles == "\"gateway\"";
    out << "[[node]]\nname = \"" << name << "\"\nroles = [" << roles << "]\n";
    out << "listen = " << at(name) << "metrics = " << at("metrics." + name);
    if (gateway)
      out << "rpc = " << at("rpc");
    else
      out << "kv_blocks = " << options.kv_blocks << "\n";
  }
  out << "[fabric]\ntransport = \"" << options.transport << "\"\n" << options.more;
  return out.str();
}

std::string http_get(uint16_t port, const std::string& path) {
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto to = loopback(port);
  std::string out;
  timeval limit{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    auto ask = "GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    [[maybe_unused]] auto sent = write(fd, ask.data(), ask.size());
    char part[8192];
    for (ssize_t count = 0; (count = read(fd, part, sizeof part)) > 0;)
      out.append(part, static_cast<size_t>(count));
  }
  close(fd);
  return out;
}

json parsed(const finished& f) {
  auto j = json::parse(f.out, nullptr, false);
  EXPECT_TRUE(j.is_object()) << "exit code " << f.exit_code << "\n" << f.out << f.err;
  if (j.is_object())
    j["exit_code"] = f.exit_code;
  return j;
}

/// The parent's pid and the arguments of a process; 0 if it is gone or dead.
pid_t parent_of(const fs::path& proc, std::string& arguments) {
  std::ifstream stat(proc / "stat");
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  auto end = text.rfind(')');
  if (end == std::string::npos)
    return 0;
  std::istringstream fields(text.substr(end + 1));
  char state = 'Z';
  pid_t parent = 0;
  fields >> state >> parent;
  std::ifstream line(proc / "cmdline");
  arguments.assign(std::istreambuf_iterator<char>(line), {});
  return state == 'Z' ? 0 : parent;
}

} // namespace

std::string penstock() {
  return PENSTOCK_BINARY;
}

std::string tinystories() {
  auto path = std::string{PENSTOCK_SHARED_DIR} + "/models/tinystories-656k";
  return fs::exists(path + "/config.json") ? path : std::string{};
}

cluster::cluster(const cluster_options& options) {
  static int count = 0;
  file_ = fs::temp_directory_path()
          / ("penstock-e2e." + std::to_string(getpid()) + "." + std::to_string(++count) + ".toml");
  for (const auto& each : nodes_of(options))
    nodes_.push_back(each.first);
  std::ofstream(file_) << file_text(options, ports_);
  up_ = std::make_unique<process>(std::vector<std::string>{penstock(), "up", file_});
  bool ready
    = up_->read_until([](const finished& f) { return f.out.find("ready") != std::string::npos; });
  EXPECT_TRUE(ready) << up_->so_far().err;
}

cluster::~cluster() {
  if (testing::Test::HasFailure() && up_->pid() > 0) {
    up_->send_signal(SIGTERM);
    std::cerr << "--- log of the cluster\n" << up_->wait().err << "---\n";
  }
  up_.reset();
  fs::remove(file_);
}

std::vector<std::string> cluster::ask_command(std::vector<std::string> arguments) const {
  std::vector<std::string> argv{penstock(), "ask", "--address", address()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

json cluster::ask(std::vector<std::string> arguments, const std::string& input) {
  arguments.insert(arguments.begin(), "--json");
  return parsed(run(ask_command(std::move(arguments)), input));
}

std::string cluster::address() const {
  return "127.0.0.1:" + std::to_string(ports_.at("rpc"));
}

pid_t cluster::pid_of(const std::string& node) const {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    auto name = entry.path().filename().string();
    if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    std::string arguments;
    if (parent_of(entry.path(), arguments) != up_->pid())
      continue;
    if (arguments.find(std::string{"\0node\0", 6} + node + '\0') != std::string::npos)
      return static_cast<pid_t>(std::stol(name));
  }
  return 0;
}

std::map<std::string, double> cluster::metrics_of(const std::string& node) const {
  std::istringstream lines(http_get(ports_.at("metrics." + node), "/metrics"));
  std::map<std::string, double> out;
  for (std::string line; std::getline(lines, line);) {
    auto space = line.rfind(' ');
    if (line.rfind("penstock_", 0) == 0 && space != std::string::npos)
      out[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
  }
  return out;
}

std::string cluster::page_of(const std::string& node, const std::string& path) const {
  return http_get(ports_.at("metrics." + node), path);
}

int cluster::stop() {
  up_->send_signal(SIGTERM);
  return up_->wait().exit_code;
}

std::string fingerprint(const json& answer) {
  std::ostringstream out;
  if (!answer.is_object() || !answer.contains("token_ids"))
    return "no answer: " + answer.dump();
  for (size_t i = 0; i < answer["token_ids"].size(); ++i)
    out << answer["token_ids"][i] << ':' << std::hex
        << std::bit_cast<uint32_t>(answer["logprobs"].at(i).get<float>()) << std::dec << ' ';
  out << answer["finish_reason"];
  return out.str();
}

json oracle(const std::string& model, std::vector<std::string> arguments) {
  std::vector<std::string> argv{penstock(), "run", "--json", "--model", model};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return parsed(run(std::move(argv)));
}

} // namespace penstock::e2e
