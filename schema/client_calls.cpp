#include "schema/client_calls.hpp"

#include "schema/convert.hpp"

#include <kj/refcount.h>

namespace penstock::schema {

namespace {

constexpr kj::Duration info_wait_max = 5 * kj::SECONDS;
constexpr kj::Duration answer_grace = 2 * kj::SECONDS; // For the way there and back.
constexpr uint64_t client_message_words_max = (uint64_t{64} << 20U) / sizeof(capnp::word);

capnp::ReaderOptions reader_options() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = client_message_words_max;
  return options;
}

wire::Inference::Client bootstrap_of(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& rpc) {
  capnp::MallocMessageBuilder builder{8};
  auto server = builder.initRoot<capnp::rpc::twoparty::VatId>();
  server.setSide(capnp::rpc::twoparty::Side::SERVER);
  return rpc.bootstrap(server).castAs<wire::Inference>();
}

} // namespace

class client_call final : public kj::Refcounted {
public:
  client_call(const rpc_client::token_handler& on_tokens,
              kj::Own<kj::PromiseFulfiller<result<generate_outcome>>> ending,
              kj::Own<kj::PromiseFulfiller<void>> cancelling)
    : on_tokens_(on_tokens), ending_(kj::mv(ending)), cancelling_(kj::mv(cancelling)) {}

  void take(std::span<const generated_token> tokens, std::string_view text) {
    if (over_ || cancelled_ || !on_tokens_)
      return;
    if (!on_tokens_(tokens, text))
      cancel();
  }

  void end(result<generate_outcome> outcome) {
    if (!over_)
      ending_->fulfill(std::move(outcome));
    over_ = true;
  }

  void cancel() {
    if (over_ || cancelled_)
      return;
    cancelled_ = true;
    cancelling_->fulfill();
    KJ_IF_MAYBE (t, ticket)
      cancel_sent_ = t->cancelRequest().send().ignoreResult().eagerlyEvaluate(nullptr);
  }

  /// The caller waits no longer: its handler must not be called.
  void leave() { over_ = true; }

  kj::Maybe<wire::Ticket::Client> ticket;

private:
  const rpc_client::token_handler& on_tokens_; // Valid while !over_.
  kj::Own<kj::PromiseFulfiller<result<generate_outcome>>> ending_;
  kj::Own<kj::PromiseFulfiller<void>> cancelling_;
  kj::Promise<void> cancel_sent_ = kj::READY_NOW;
  bool cancelled_ = false;
  bool over_ = false;
};

namespace {

class client_sink final : public wire::TokenSink::Server {
public:
  client_sink(kj::Own<client_call> call, error dropped)
    : call_(kj::mv(call)), dropped_(std::move(dropped)) {}
  ~client_sink() noexcept(false) { call_->end(dropped_); }

  kj::Promise<void> push(PushContext context) override {
    auto params = context.getParams();
    auto tokens = read_tokens(params);
    if (!tokens) {
      call_->end(tokens.err());
      return kj::READY_NOW;
    }
    auto text = params.getText();
    call_->take(*tokens, {text.begin(), text.size()});
    return kj::READY_NOW;
  }

  kj::Promise<void> done(DoneContext context) override {
    call_->end(read_outcome(context.getParams().getOutcome()));
    return kj::READY_NOW;
  }

private:
  kj::Own<client_call> call_;
  error dropped_;
};

} // namespace

client_connection::client_connection(kj::Own<kj::AsyncIoStream> stream, kj::Timer& timer,
                                     std::string address)
  : stream_(kj::mv(stream)), timer_(timer), address_(std::move(address)),
    network_(*stream_, capnp::rpc::twoparty::Side::CLIENT, reader_options()),
    rpc_(capnp::makeRpcClient(network_)), gateway_(bootstrap_of(rpc_)),
    gone_(network_.onDisconnect().fork()) {}

client_connection::~client_connection() = default;

error client_connection::lost() const {
  return {errc::unavailable,
          "the gateway at " + address_ + " went away before it answered; is it still running?"};
}

error client_connection::error_of(const kj::Exception& e) const {
  switch (e.getType()) {
  case kj::Exception::Type::DISCONNECTED:
    return lost();
  case kj::Exception::Type::OVERLOADED: // What KJ's timer throws.
    return {errc::deadline_exceeded, "the gateway at " + address_ + " did not answer in time"};
  case kj::Exception::Type::UNIMPLEMENTED:
    return {errc::unsupported, "the gateway at " + address_ + " is of another version"};
  case kj::Exception::Type::FAILED:
    break;
  }
  return {errc::internal, "the gateway at " + address_ + ": " + e.getDescription().cStr()};
}

kj::Promise<result<service_info>> client_connection::info() {
  auto answer = gateway_.infoRequest().send().then(
    [](auto&& response) -> result<service_info> { return read_info(response.getInfo()); });
  auto gone = gone_.addBranch().then([this]() -> result<service_info> { return lost(); });
  return timer_.timeoutAfter(info_wait_max, answer.exclusiveJoin(kj::mv(gone)))
    .catch_([this](kj::Exception&& e) -> result<service_info> { return error_of(e); });
}

kj::Promise<result<generate_outcome>>
client_connection::generate(const generate_request& request,
                            const rpc_client::token_handler& on_tokens) {
  using ending = result<generate_outcome>;
  auto ended = kj::newPromiseAndFulfiller<ending>();
  auto cancelled = kj::newPromiseAndFulfiller<void>();
  auto call
    = kj::refcounted<client_call>(on_tokens, kj::mv(ended.fulfiller), kj::mv(cancelled.fulfiller));
  auto message = gateway_.generateRequest();
  write_request(request, message.initRequest());
  message.setSink(kj::heap<client_sink>(kj::addRef(*call), lost()));
  auto response = message.send();
  call->ticket = response.getTicket();

  // The first of: the ending, a failed call, a lost connection, a cancel nobody confirms, time out.
  auto failed = response.then([](auto&&) -> kj::Promise<ending> { return kj::NEVER_DONE; });
  auto gone = gone_.addBranch().then([this]() -> ending { return lost(); });
  auto given_up = cancelled.promise.then([this] { return timer_.afterDelay(answer_grace); })
                    .then([]() -> ending {
                      generate_outcome out;
                      out.reason = finish_reason::cancelled;
                      out.code = errc::cancelled;
                      out.detail = "cancelled; the gateway did not confirm it in time";
                      return out;
                    });
  auto first = ended.promise.exclusiveJoin(kj::mv(failed))
                 .exclusiveJoin(kj::mv(gone))
                 .exclusiveJoin(kj::mv(given_up));
  auto wait_max = static_cast<int64_t>(request.budget_us) * kj::MICROSECONDS + answer_grace;
  auto key = ++call_last_;
  calls_.emplace(key, call.get());
  auto forget = kj::defer([this, key, held = kj::mv(call)]() mutable {
    calls_.erase(key);
    held->leave();
  });
  return timer_.timeoutAfter(wait_max, kj::mv(first))
    .catch_([this](kj::Exception&& e) -> ending { return error_of(e); })
    .attach(kj::mv(forget));
}

void client_connection::cancel_all() {
  for (auto& [key, call] : calls_)
    call->cancel();
}

} // namespace penstock::schema
