#include "schema/rpc_connection.hpp"

#include "schema/convert.hpp"
#include "schema/request_check.hpp"

#include <capnp/serialize.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <string>

namespace penstock::schema {

namespace {

// A held request. Dropping the last reference is how a client cancels, on purpose or by dying.
class ticket final : public wire::Ticket::Server {
public:
  explicit ticket(kj::Own<open_request> request) : request_(kj::mv(request)) {}
  ~ticket() noexcept(false) { request_->cancel(); }

  kj::Promise<void> cancel(CancelContext /*context*/) override {
    request_->cancel();
    return kj::READY_NOW;
  }

private:
  kj::Own<open_request> request_;
};

// Of a request that was refused: there is nothing to cancel.
class spent_ticket final : public wire::Ticket::Server {
public:
  kj::Promise<void> cancel(CancelContext /*context*/) override { return kj::READY_NOW; }
};

capnp::ReaderOptions reader_options() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = wire::MESSAGE_BYTES_MAX / sizeof(capnp::word);
  return options;
}

result<generate_request> read_any_request(wire::GenerateRequest::Reader from) {
  kj::Maybe<result<generate_request>> out;
  auto thrown = kj::runCatchingExceptions([&out, &from] { out = read_request(from); });
  KJ_IF_MAYBE (e, thrown)
    return error{errc::malformed,
                 std::string{"the request is no valid message: "} + e->getDescription().cStr()};
  KJ_IF_MAYBE (request, out)
    return std::move(*request);
  PS_UNREACHABLE();
}

// So that a client whose host vanished is noticed within half a minute, not after hours.
void keep_alive(kj::AsyncIoStream& stream) {
  auto set = [&stream](int level, int option, int value) {
    stream.setsockopt(level, option, &value, sizeof value);
  };
  // Unix sockets have none of these.
  auto ignored = kj::runCatchingExceptions([&set] {
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
    set(IPPROTO_TCP, TCP_NODELAY, 1);
  });
  (void)ignored;
}

} // namespace

kj::Promise<void> inference_edge::generate(GenerateContext context) {
  auto params = context.getParams();
  KJ_REQUIRE(params.hasSink(), "generate() needs a sink: there is nobody to answer to");
  // Beyond this it takes no endings either.
  KJ_REQUIRE(load_->owed < 2 * requests_max_, "this connection leaves done() unanswered");
  auto request = read_any_request(params.getRequest());
  auto sink = params.getSink();
  context.releaseParams();
  auto refusal = [this, &context, &sink](const error& why) {
    requests_.refuse(why, kj::mv(sink), kj::addRef(*load_));
    context.getResults(capnp::MessageSize{4, 1}).setTicket(kj::heap<spent_ticket>());
    return kj::READY_NOW;
  };
  if (!request)
    return refusal(request.err());
  if (load_->owed >= requests_max_)
    return refusal({errc::overloaded, "this connection has " + std::to_string(load_->owed)
                                        + " requests open; end one, or open another connection"});
  auto opened = requests_.start(std::move(*request), kj::mv(sink), kj::addRef(*load_));
  context.getResults(capnp::MessageSize{4, 1}).setTicket(kj::heap<ticket>(kj::mv(opened)));
  return kj::READY_NOW;
}

kj::Promise<void> inference_edge::info(InfoContext context) {
  write_info(service_.info(), context.getResults().initInfo());
  return kj::READY_NOW;
}

rpc_connection::rpc_connection(kj::Own<kj::AsyncIoStream> stream, wire::Inference::Client bootstrap)
  : stream_(kj::mv(stream)),
    network_(*stream_, capnp::rpc::twoparty::Side::SERVER, reader_options()),
    rpc_(capnp::makeRpcServer(network_, kj::mv(bootstrap))) {
  keep_alive(*stream_);
}

} // namespace penstock::schema
