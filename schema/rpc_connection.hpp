// One client's connection, as the server sees it. Private to schema/; the RPC loop's thread.
#pragma once

#include "schema/open_requests.hpp"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <cstdint>

namespace penstock::schema {

/// The bootstrap capability of a connection.
class inference_edge final : public wire::Inference::Server {
public:
  inference_edge(inference_service& service, open_requests& requests, uint32_t requests_max)
    : service_(service), requests_(requests), requests_max_(requests_max),
      load_(kj::refcounted<connection_load>()) {}

  kj::Promise<void> generate(GenerateContext context) override;
  kj::Promise<void> info(InfoContext context) override;

private:
  inference_service& service_;
  open_requests& requests_;
  uint32_t requests_max_;
  kj::Own<connection_load> load_;
};

class rpc_connection {
public:
  rpc_connection(kj::Own<kj::AsyncIoStream> stream, wire::Inference::Client bootstrap);

  /// Resolves when the client has gone.
  kj::Promise<void> gone() { return network_.onDisconnect(); }

private:
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

} // namespace penstock::schema
