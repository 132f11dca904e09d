// A client that speaks the schema itself, to do what rpc_client would not. Its loop is the test's
// thread, and turns only inside wait().
#pragma once

#include "schema/inference.capnp.h"

#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <string>
#include <vector>

namespace penstock::schema::testing {

/// What a raw_sink was told.
struct heard {
  std::vector<uint32_t> ids;
  std::string text;
  uint32_t pushes = 0;
  uint32_t endings = 0;
  uint16_t reason = 0;
  uint8_t code = 0;
  std::string code_name;
  std::string detail;
};

class raw_sink final : public wire::TokenSink::Server {
public:
  enum class manner { attentive, deaf, failing };

  /// @param into Outlives the sink.
  raw_sink(heard& into, manner how) : heard_(into), manner_(how) {}

  kj::Promise<void> push(PushContext context) override {
    auto params = context.getParams();
    ++heard_.pushes;
    for (auto id : params.getIds())
      heard_.ids.push_back(id);
    heard_.text.append(params.getText().begin(), params.getText().size());
    if (manner_ == manner::deaf) // Takes it, but never makes room for more.
      return kj::NEVER_DONE;
    KJ_REQUIRE(manner_ != manner::failing, "this sink fails");
    return kj::READY_NOW;
  }

  kj::Promise<void> done(DoneContext context) override {
    auto outcome = context.getParams().getOutcome();
    ++heard_.endings;
    heard_.reason = static_cast<uint16_t>(outcome.getReason());
    heard_.code = outcome.getCode();
    heard_.code_name = outcome.getCodeName().cStr();
    heard_.detail = outcome.getDetail().cStr();
    return manner_ == manner::deaf ? kj::Promise<void>{kj::NEVER_DONE} : kj::READY_NOW;
  }

private:
  heard& heard_;
  manner manner_;
};

class raw_client {
public:
  explicit raw_client(kj::AsyncIoContext& io, const std::string& address)
    : io_(io), stream_(io.provider->getNetwork()
                         .parseAddress(address)
                         .wait(io.waitScope)
                         ->connect()
                         .wait(io.waitScope)),
      network_(*stream_, capnp::rpc::twoparty::Side::CLIENT), rpc_(capnp::makeRpcClient(network_)) {
  }

  wire::Inference::Client gateway() {
    capnp::MallocMessageBuilder builder{8};
    auto server = builder.initRoot<capnp::rpc::twoparty::VatId>();
    server.setSide(capnp::rpc::twoparty::Side::SERVER);
    return rpc_.bootstrap(server).castAs<wire::Inference>();
  }

  /// A well-formed generate() call, to be changed before it is sent.
  auto request(heard& into, raw_sink::manner how = raw_sink::manner::attentive,
               uint32_t tokens_max = 16) {
    auto call = gateway().generateRequest();
    auto r = call.initRequest();
    r.setPrompt("Once upon a time");
    r.setTokensMax(tokens_max);
    r.setBudgetUs(60'000'000);
    call.setSink(kj::heap<raw_sink>(into, how));
    return call;
  }

  /// Turns the loop until `condition` holds; generous, so that a false answer is a failure.
  template <class F>
  bool turn_until(F condition) {
    for (int i = 0; i < 20'000 && !condition(); ++i)
      io_.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.waitScope);
    return condition();
  }

  /// Resolves when the server has closed the connection.
  kj::Promise<void> closed() { return network_.onDisconnect(); }

private:
  kj::AsyncIoContext& io_;
  kj::Own<kj::AsyncIoStream> stream_;
  capnp::TwoPartyVatNetwork network_;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> rpc_;
};

} // namespace penstock::schema::testing
