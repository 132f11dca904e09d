// The client API's server: accepts connections and hands their requests to an inference_service.
//
// Owns one thread with a KJ event loop; no kj type shows. The service is called on that thread and
// must not block; its token_sinks may be called from any thread and never wait for a client.
// Built and stopped by apps/.
#pragma once

#include "base/result.hpp"
#include "schema/service.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace penstock::schema {

struct rpc_server_options {
  /// "host:port", "[ipv6]:port" (port 0: any free one) or "unix:/path".
  std::string address = "127.0.0.1:0";
  /// More are accepted and closed at once. >= 1.
  uint32_t connections_max = 256;
  /// Requests one connection may have open; more are refused with errc::overloaded. >= 1.
  uint32_t requests_per_connection_max = 256;
};

class rpc_server {
public:
  /// @param service Outlives the server.
  rpc_server(inference_service& service, rpc_server_options options);
  /// Stops.
  ~rpc_server();
  rpc_server(const rpc_server&) = delete;
  rpc_server& operator=(const rpc_server&) = delete;

  /// Listens and begins to serve. Once.
  /// @returns The port, 0 for a unix socket; errc::invalid_argument for an address that is none,
  ///   errc::io_failed if it cannot be listened on, e.g. because it is taken.
  result<uint16_t> start();

  /// Closes every connection, cancels every open request and ends the thread. Clients see the
  /// connection end. Idempotent.
  void stop();

private:
  struct loop;
  std::unique_ptr<loop> loop_;
};

} // namespace penstock::schema
