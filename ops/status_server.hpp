// The small HTTP server of a node: a few pages for Prometheus, for probes, and for people.
//
// Pages are functions, called on the server's threads for every request. GET and HEAD only, exact
// paths, no bodies, no cookies; anything else is refused. What pages say is their owners' business.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace penstock::ops {

struct status_page {
  int code = 200; ///< HTTP's.
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

class status_server {
public:
  /// By path, with its leading slash.
  using pages = std::map<std::string, std::function<status_page()>>;

  /// @param address "127.0.0.1:7690" or "[::1]:7690"; port 0 takes a free one.
  /// @param shown Called from several threads at once.
  /// @returns errc::io_failed if the address cannot be bound, with the address and why.
  [[nodiscard]] static result<std::unique_ptr<status_server>> start(const std::string& address,
                                                                    pages shown);
  ~status_server(); ///< After it no page is called.
  status_server(const status_server&) = delete;
  status_server& operator=(const status_server&) = delete;

  [[nodiscard]] uint16_t port() const;

private:
  struct state;
  explicit status_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_; // Hides the library.
};

} // namespace penstock::ops
