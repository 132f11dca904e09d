#include "fabric/mapped_server.hpp"

#include "fabric/host_identity.hpp"
#include "fabric/quiet_thread.hpp"
#include "fabric/unix_channel.hpp"
#include "fabric/wire_bytes.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace penstock::fabric {

namespace {

constexpr auto prove_within = std::chrono::seconds(2);

} // namespace

result<std::unique_ptr<mapped_server>> mapped_server::start(int memfd, uint64_t size_bytes) {
  mapped_descriptor described{random_key(), "penstock-" + random_key().hex(), size_bytes};
  auto listener = listen_abstract(described.name);
  if (!listener)
    return listener.err();
  unique_fd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  if (!wake)
    return error{errc::io_failed, std::string{"eventfd: "} + std::strerror(errno)};
  return std::unique_ptr<mapped_server>(
    new mapped_server(memfd, std::move(described), std::move(*listener), std::move(wake)));
}

mapped_server::mapped_server(int memfd, mapped_descriptor described, unique_fd listener,
                             unique_fd wake)
  : memfd_(memfd), described_(std::move(described)), listener_(std::move(listener)),
    wake_(std::move(wake)), thread_(quiet_thread("fabric-serve", [this] { run(); })) {}

mapped_server::~mapped_server() {
  uint64_t one = 1;
  [[maybe_unused]] auto told = ::write(wake_.get(), &one, sizeof one);
  thread_.join();
}

void mapped_server::run() {
  std::vector<pollfd> at;
  for (;;) {
    int wait_ms = drop_late();
    at.assign({{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}});
    for (const auto& each : readers_)
      at.push_back({each.socket.get(), POLLIN | POLLRDHUP, 0});
    if (::poll(at.data(), at.size(), wait_ms) < 0)
      continue; // Only EINTR is possible, and harmless.
    if (at[0].revents != 0)
      return;
    for (size_t i = readers_.size(); i > 0; --i)
      if (at[i + 1].revents != 0 && !serve(readers_[i - 1]))
        readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    if (at[1].revents != 0)
      accept_one();
  }
}

int mapped_server::drop_late() {
  auto now = std::chrono::steady_clock::now();
  std::erase_if(readers_, [now](const reader& r) { return !r.proven && r.prove_by <= now; });
  auto next = std::chrono::steady_clock::time_point::max();
  for (const auto& each : readers_)
    if (!each.proven)
      next = std::min(next, each.prove_by);
  if (next == std::chrono::steady_clock::time_point::max())
    return -1;
  auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(left) + 1;
}

// One for each look at the readers: whoever left before this one came makes room for it.
void mapped_server::accept_one() {
  unique_fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (socket && readers_.size() < readers_max && peer_is_same_user(socket.get()))
    readers_.push_back({std::move(socket), false, std::chrono::steady_clock::now() + prove_within});
}

bool mapped_server::serve(reader& from) const {
  std::array<std::byte, mapped_hello_bytes + 1> bytes{};
  auto got = receive_packet(from.socket.get(), bytes);
  if (from.proven || got.size_bytes != mapped_hello_bytes)
    return false; // Closed, or says what it should not.
  byte_reader in{std::span{bytes}.first(mapped_hello_bytes)};
  bool hello = in.number(8) == mapped_hello;
  digest128 key;
  key.high = in.number(8);
  key.low = in.number(8);
  if (!hello || key != described_.key)
    return false;
  byte_writer out;
  out.number(mapped_hello, 8);
  out.number(described_.size_bytes, 8);
  from.proven = true;
  return send_packet(from.socket.get(), std::move(out).take(), memfd_);
}

} // namespace penstock::fabric
