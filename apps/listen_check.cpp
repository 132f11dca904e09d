#include "apps/listen_check.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace penstock::apps {

namespace {

struct address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

address address_of(const cluster::endpoint& where) {
  address out;
  if (where.v6) {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(where.port);
    inet_pton(AF_INET6, where.address.c_str(), &v6.sin6_addr);
    std::memcpy(&out.bytes, &v6, sizeof v6);
    out.size = sizeof v6;
  } else {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(where.port);
    inet_pton(AF_INET, where.address.c_str(), &v4.sin_addr);
    std::memcpy(&out.bytes, &v4, sizeof v4);
    out.size = sizeof v4;
  }
  return out;
}

/// @returns 0, or the errno that says why not.
int try_bind(const cluster::endpoint& where) {
  int fd = socket(where.v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return errno;
  int on = 1; // As servers do: a port in TIME_WAIT is free.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  auto to = address_of(where);
  int failed
    = bind(fd, reinterpret_cast<const sockaddr*>(&to.bytes), to.size) != 0 || listen(fd, 1) != 0
        ? errno
        : 0;
  close(fd);
  return failed;
}

} // namespace

result<void> check_listen_addresses(const std::vector<const cluster::node_config*>& nodes) {
  for (const auto* node : nodes) {
    std::vector<cluster::endpoint> all{node->listen};
    if (node->rpc)
      all.push_back(*node->rpc);
    if (node->metrics)
      all.push_back(*node->metrics);
    for (const auto& where : all) {
      int failed = try_bind(where);
      if (failed == EADDRINUSE)
        return error{errc::unavailable,
                     "address " + where.text() + " of node " + node->name
                       + " is taken by another program (a cluster that is still up?); stop it, or "
                         "name other ports in a cluster file"};
      if (failed != 0)
        return error{errc::unavailable, "cannot listen on " + where.text() + " of node "
                                          + node->name + ": " + std::strerror(failed)};
    }
  }
  return {};
}

} // namespace penstock::apps
