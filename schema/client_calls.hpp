// The client's side of running calls on one connection. Private to schema/; the client's loop.
#pragma once

#include "schema/inference.capnp.h"
#include "schema/rpc_client.hpp"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <map>
#include <string>

namespace penstock::schema {

/// One running generate().
class client_call;

/// One connection to a gateway and the calls on it.
class client_connection {
public:
  client_connection(kj::Own<kj::AsyncIoStream> stream, kj::Timer& timer, std::string address);
  ~client_connection();

  kj::Promise<result<service_info>> info();
  kj::Promise<result<generate_outcome>> generate(const generate_request& request,
                                                 const rpc_client::token_handler& on_tokens);
  void cancel_all();

private:
  [[nodiscard]] error lost() const;
  // Turns what KJ says went wrong into ours.
  [[nodiscard]] error error_of(const kj::Exception& e) const;

  kj::Own<kj::AsyncIoStream> stream_;
  kj::Timer& timer_;
  std::string address_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
  wire::Inference::Client gateway_;
  kj::ForkedPromise<void> gone_;
  std::map<uint64_t, client_call*> calls_; // Each removes itself when it dies.
  uint64_t call_last_ = 0;
};

} // namespace penstock::schema
