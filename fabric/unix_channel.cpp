#include "fabric/unix_channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace penstock::fabric {

namespace {

constexpr int backlog = 64;

struct abstract_address {
  sockaddr_un address{};
  socklen_t size = 0;

  explicit abstract_address(const std::string& name) {
    PS_CHECK(!name.empty() && name.size() < sizeof address.sun_path);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

error socket_error(const char* call, const std::string& name) {
  return {errc::io_failed,
          std::string{call} + " unix socket @" + name + ": " + std::strerror(errno)};
}

} // namespace

result<unique_fd> listen_abstract(const std::string& name) {
  unique_fd fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!fd)
    return socket_error("create", name);
  abstract_address at{name};
  if (::bind(fd.get(), at.get(), at.size) != 0)
    return socket_error("bind", name);
  if (::listen(fd.get(), backlog) != 0)
    return socket_error("listen on", name);
  return fd;
}

result<unique_fd> connect_abstract(const std::string& name, int timeout_ms) {
  PS_CHECK(timeout_ms > 0);
  unique_fd fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  if (!fd)
    return socket_error("create", name);
  timeval limit{timeout_ms / 1000, (timeout_ms % 1000) * 1000};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit); // connect() keeps to it.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  abstract_address at{name};
  if (::connect(fd.get(), at.get(), at.size) != 0) {
    auto failed = socket_error("connect to", name);
    if (errno == ECONNREFUSED)
      failed.code = errc::peer_lost;
    return failed;
  }
  if (!peer_is_same_user(fd.get()))
    return error{errc::incompatible, "unix socket @" + name + " belongs to another user"};
  return fd;
}

bool peer_is_same_user(int socket) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer
         && peer.uid == ::geteuid();
}

bool send_packet(int socket, std::span<const std::byte> bytes, int fd) noexcept {
  iovec data{const_cast<std::byte*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    auto* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

packet receive_packet(int socket, std::span<std::byte> into) noexcept {
  iovec data{into.data(), into.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  packet out;
  if (got <= 0)
    return out;
  out.size_bytes = static_cast<size_t>(got);
  auto* head = CMSG_FIRSTHDR(&message);
  if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS
      && head->cmsg_len == CMSG_LEN(sizeof(int))) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    out.fd = unique_fd{fd};
  }
  return out;
}

bool is_closed_by_peer(int socket) noexcept {
  pollfd at{socket, POLLRDHUP, 0};
  return ::poll(&at, 1, 0) > 0 && (at.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

} // namespace penstock::fabric
