#include "ops/status_server.hpp"

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

namespace penstock::ops {
namespace {

constexpr const char* threads = "2"; // One slow reader leaves one for probes.
constexpr const char* request_ms_max = "5000";

using address_info = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// @returns `address` for the socket calls; null with the reason in `why` if it is none.
address_info resolve(const std::string& address, std::string& why) {
  address_info none{nullptr, &freeaddrinfo};
  size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    why = "it has no port";
    return none;
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int code = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (code != 0) {
    why = gai_strerror(code);
    return none;
  }
  return {found, &freeaddrinfo};
}

/// Binds and closes, because the library says only "cannot start" for whatever is wrong.
/// @returns The system's reason; empty if the address can be bound.
std::string why_not_bindable(const std::string& address) {
  std::string why;
  address_info at = resolve(address, why);
  if (at == nullptr)
    return why;
  int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return std::strerror(errno);
  int yes = 1; // As the library does: a port in TIME_WAIT is free.
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, 1) != 0)
    why = std::strerror(errno);
  close(fd);
  return why;
}

/// Connects and closes at once.
void poke(const std::string& address) {
  std::string why;
  address_info at = resolve(address, why);
  if (at == nullptr)
    return;
  int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  (void)connect(fd, at->ai_addr, at->ai_addrlen);
  close(fd);
}

void answer(mg_connection* to, const status_page& page, bool with_body) {
  std::string head = "HTTP/1.1 " + std::to_string(page.code) + ' '
                     + mg_get_response_code_text(to, page.code) + "\r\nContent-Type: " + page.type
                     + "\r\nContent-Length: " + std::to_string(page.body.size())
                     + "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
  if (with_body)
    head += page.body;
  mg_write(to, head.data(), head.size());
}

status_page page_for(const status_server::pages& shown, std::string_view method,
                     const std::string& path) {
  if (method != "GET" && method != "HEAD")
    return {405, "text/plain; charset=utf-8", "only GET and HEAD\n"};
  if (auto found = shown.find(path); found != shown.end())
    return found->second();
  std::string known;
  for (const auto& [name, page] : shown)
    known += ' ' + name;
  return {404, "text/plain; charset=utf-8", "no such page; there are:" + known + '\n'};
}

/// @returns The status it sent, as civetweb wants to know.
int handle(mg_connection* from, void* shown) {
  const auto* request = mg_get_request_info(from);
  std::string_view method = request->request_method;
  const char* path = request->local_uri != nullptr ? request->local_uri : "";
  auto page = page_for(*static_cast<const status_server::pages*>(shown), method, path);
  answer(from, page, method != "HEAD");
  return page.code;
}

} // namespace

struct status_server::state {
  pages shown;
  std::string address; // With the port that was bound.
  mg_context* server = nullptr;

  [[nodiscard]] uint16_t port() const {
    std::array<mg_server_port, 1> at{};
    int count = mg_get_server_ports(server, static_cast<int>(at.size()), at.data());
    return count < 1 ? uint16_t{0} : static_cast<uint16_t>(at[0].port);
  }

  /// The library's server looks at its stop flag only every two seconds, or when somebody connects.
  ~state() {
    if (server == nullptr)
      return;
    std::atomic<bool> stopped = false;
    std::thread waker{[this, &stopped] {
      while (!stopped) {
        poke(address);
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
      }
    }};
    mg_stop(server);
    stopped = true;
    waker.join();
  }
};

status_server::status_server(std::unique_ptr<state> s) : state_(std::move(s)) {}
status_server::~status_server() = default;

result<std::unique_ptr<status_server>> status_server::start(const std::string& address,
                                                            pages shown) {
  std::string hint = "; choose another metrics address in the cluster file";
  if (std::string why = why_not_bindable(address); !why.empty())
    return error{errc::io_failed, "cannot serve metrics at " + address + ": " + why + hint};
  auto s = std::make_unique<state>();
  s->shown = std::move(shown);
  const char* options[] = {"listening_ports",    address.c_str(), "num_threads", threads,
                           "request_timeout_ms", request_ms_max,  nullptr};
  mg_callbacks callbacks{};
  s->server = mg_start(&callbacks, nullptr, options);
  if (s->server == nullptr)
    return error{errc::io_failed, "cannot serve metrics at " + address + hint};
  s->address = address.substr(0, address.rfind(':') + 1) + std::to_string(s->port());
  mg_set_request_handler(s->server, "/", handle, &s->shown);
  return std::unique_ptr<status_server>{new status_server{std::move(s)}};
}

uint16_t status_server::port() const {
  return state_->port();
}

} // namespace penstock::ops
