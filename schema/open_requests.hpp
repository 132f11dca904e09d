// The server's side of open requests: from a client's generate() to the end of its done().
//
// Private to schema/; everything here lives on the RPC loop's thread. A request is asked to end
// (service.cancel, once) when its ticket is cancelled or dropped, which is also what a lost
// connection does, or when its sink fails.
#pragma once

#include "base/result.hpp"
#include "schema/inference.capnp.h"
#include "schema/service.hpp"
#include "schema/token_stream.hpp"

#include <kj/async.h>
#include <kj/refcount.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace penstock::schema {

/// Endings one connection is owed: requests it has open, and refusals it has not yet taken.
struct connection_load : kj::Refcounted {
  uint32_t owed = 0;
};

class open_requests;

class open_request final : public kj::Refcounted {
public:
  open_request(open_requests& table, uint64_t key, wire::TokenSink::Client sink,
               kj::Own<connection_load> load, std::shared_ptr<token_stream> stream);

  /// Asks the service to end it, once, unless it has ended.
  void cancel();

private:
  friend class open_requests;

  // Sends what has gathered, unless an earlier push still waits for room.
  void pump();
  void push(const token_stream::batch& batch);
  void send(std::span<const generated_token> tokens, const std::string& text, bool is_last);
  void finish(const generate_outcome& outcome);
  void fail(const kj::Exception& why);
  // Forgets it; what the service still pushes is ignored.
  void close();

  open_requests& table_;
  const uint64_t key_;
  wire::TokenSink::Client sink_;
  kj::Own<connection_load> load_;
  std::shared_ptr<token_stream> stream_; // Shared with the service, which pushes into it.
  request_id id_ = 0;
  bool pushing_ = false; // A push waits for room in the connection's window.
  bool cancelled_ = false;
  bool closed_ = false;
};

class open_requests final : private kj::TaskSet::ErrorHandler {
public:
  explicit open_requests(inference_service& service);

  /// Gives a request to the service.
  kj::Own<open_request> start(generate_request request, wire::TokenSink::Client sink,
                              kj::Own<connection_load> load);

  /// Answers a request that is not given to the service.
  void refuse(const error& why, wire::TokenSink::Client sink, kj::Own<connection_load> load);

  /// Sends for every request that has something, whenever the box rings, until it is closed.
  void pump_ready();

  /// Asks the service to end all; nothing is sent any more.
  void abandon();

  [[nodiscard]] post_box<uint64_t>& ready() noexcept { return *ready_; }

private:
  friend class open_request;
  void taskFailed(kj::Exception&& exception) override;

  inference_service& service_;
  std::shared_ptr<post_box<uint64_t>> ready_; // Shared with streams the service still holds.
  std::unordered_map<uint64_t, kj::Own<open_request>> requests_;
  uint64_t key_last_ = 0;
  kj::TaskSet sends_; // Last: its promises hold requests.
};

} // namespace penstock::schema
