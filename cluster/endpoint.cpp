#include "cluster/endpoint.hpp"

#include <arpa/inet.h>

#include <charconv>

namespace penstock::cluster {
namespace {

error wrong(std::string hint) {
  return error{errc::invalid_argument, std::move(hint)};
}

result<uint16_t> parse_port(std::string_view text) {
  uint32_t port = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc{} || end != text.data() + text.size() || port > 65535)
    return wrong("the port is not a number in 1..65535");
  if (port == 0)
    return wrong("port 0 means any port, which nobody could find; choose one");
  return static_cast<uint16_t>(port);
}

/// Checks `text` as a numeric address and rewrites it in canonical form.
bool canonical(int family, std::string& text) {
  unsigned char raw[sizeof(in6_addr)] = {};
  char out[INET6_ADDRSTRLEN] = {};
  // An embedded zero would cut the text short for the C functions below.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string::npos)
    return false;
  if (inet_pton(family, text.c_str(), raw) != 1)
    return false;
  text = inet_ntop(family, raw, out, sizeof(out));
  return true;
}

} // namespace

bool endpoint::is_loopback() const noexcept {
  return v6 ? address == "::1" : address.starts_with("127.");
}

bool endpoint::is_wildcard() const noexcept {
  return address == (v6 ? "::" : "0.0.0.0");
}

std::string endpoint::text() const {
  return (v6 ? '[' + address + ']' : address) + ':' + std::to_string(port);
}

bool endpoint::collides_with(const endpoint& other) const noexcept {
  if (port != other.port)
    return false;
  // "::" takes the port of both families on Linux.
  return address == other.address || is_wildcard() || other.is_wildcard();
}

result<endpoint> parse_endpoint(std::string_view text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return wrong("the port is missing; write ADDRESS:PORT");
  endpoint out;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    out.v6 = true;
    out.address = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("put an IPv6 address in brackets: [::1]:7600");
  } else {
    out.address = host == "localhost" ? "127.0.0.1" : std::string{host};
  }
  if (out.address.empty())
    return wrong("the address is missing; 127.0.0.1 is this machine only");
  if (!canonical(out.v6 ? AF_INET6 : AF_INET, out.address))
    return wrong(out.v6 ? "not an IPv6 address" : "not a numeric address; names are not resolved");
  auto port = parse_port(text.substr(colon + 1));
  if (!port)
    return port.err();
  out.port = *port;
  return out;
}

} // namespace penstock::cluster
