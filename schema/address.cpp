#include "schema/address.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace penstock::schema {

namespace {

constexpr std::string_view unix_prefix = "unix:";

error wrong(std::string_view address, const char* what) {
  return {errc::invalid_argument, "address \"" + std::string{address} + "\" " + what
                                    + "; allowed are host:port, [ipv6]:port and unix:/path"};
}

} // namespace

std::string unix_path_of(std::string_view address) {
  if (!address.starts_with(unix_prefix))
    return {};
  return std::string{address.substr(unix_prefix.size())};
}

result<void> check_address(std::string_view address, bool listening) {
  if (address.find('\0') != std::string_view::npos)
    return wrong("", "has a zero byte");
  if (address.starts_with(unix_prefix)) {
    auto path = unix_path_of(address);
    if (!path.starts_with('/'))
      return wrong(address, "has no absolute path");
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      return wrong(address, "has a path longer than 107 bytes");
    return {};
  }
  auto colon = address.rfind(':');
  if (colon == std::string_view::npos || colon == 0)
    return wrong(address, "has no host and port");
  auto host = address.substr(0, colon);
  auto digits = address.substr(colon + 1);
  uint16_t port = 0;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (code != std::errc{} || end != digits.data() + digits.size())
    return wrong(address, "has a port that is not a number in [0, 65535]");
  if (port == 0 && !listening)
    return wrong(address, "has port 0");
  bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (!bracketed && host.find(':') != std::string_view::npos)
    return wrong(address, "has an IPv6 host without brackets");
  return {};
}

void remove_dead_socket(const std::string& path) {
  sockaddr_un name{};
  struct stat what {};
  if (path.size() >= sizeof name.sun_path || ::lstat(path.c_str(), &what) != 0
      || !S_ISSOCK(what.st_mode))
    return;
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), path.size());
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  bool dead = ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0
              && errno == ECONNREFUSED;
  ::close(fd);
  if (dead)
    ::unlink(path.c_str());
}

} // namespace penstock::schema
