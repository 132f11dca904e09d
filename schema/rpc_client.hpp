// A blocking C++ client of a gateway: for `penstock ask`, examples and tests. No kj type shows.
//
// Owns one connection and one thread. Any thread may call it, several at once; the calls share the
// connection. A client whose connection was lost stays lost: connect again.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"
#include "schema/service.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace penstock::schema {

class rpc_client {
public:
  /// New tokens in order and the text that became final with them. Called on the client's thread,
  /// never two at once; must not call the client, except cancel().
  /// @returns False to cancel the request; no call follows.
  using token_handler = std::function<bool(std::span<const generated_token>, std::string_view)>;

  /// What a started request tells, on the client's thread, never two at once. Each may be empty.
  struct listener {
    std::function<void()> on_sent; ///< The request is on its way.
    token_handler on_tokens;
    std::function<void(result<generate_outcome>)> on_end; ///< Once; as generate() returns.
  };

  /// Connects and asks who is there; tries again until `timeout`, so that a gateway which is still
  /// starting is found.
  /// @param address "host:port", "[ipv6]:port" or "unix:/path".
  /// @returns errc::invalid_argument for an address that is none, errc::unavailable if nobody
  ///   answers there.
  static result<std::unique_ptr<rpc_client>> connect(const std::string& address,
                                                     std::chrono::milliseconds timeout);

  /// No call may be running.
  ~rpc_client();
  rpc_client(const rpc_client&) = delete;
  rpc_client& operator=(const rpc_client&) = delete;

  /// @returns errc::unavailable if the connection is lost, errc::deadline_exceeded after 5 s.
  result<service_info> info();

  /// Sends a request and waits for its end. Its budget, and 2 s for the way, bound the wait.
  /// @param on_tokens May be empty.
  /// @returns The ending, also if the request was refused; errc::unavailable if the connection is
  ///   lost first, errc::deadline_exceeded if the gateway keeps silent.
  result<generate_outcome> generate(const generate_request& request,
                                    const token_handler& on_tokens);

  /// As generate(), but returns at once: for many requests at a time without a thread for each.
  /// Handlers may call it too. The client must live until `on_end`.
  void start(generate_request request, listener to);

  /// Cancels every running request, which then ends within 2 s. Any thread, also a signal
  /// handler.
  void cancel() noexcept;

private:
  struct loop;

public:
  /// For connect(): nobody else has a loop.
  explicit rpc_client(std::unique_ptr<loop> l);

private:
  std::unique_ptr<loop> loop_;
};

} // namespace penstock::schema
