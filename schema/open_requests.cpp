#include "schema/open_requests.hpp"

#include "base/log.hpp"
#include "schema/convert.hpp"
#include "schema/request_check.hpp"
#include "schema/token_lists.hpp"

#include <algorithm>

namespace penstock::schema {

namespace {

/// Lists of one push: a client's reader has limits, and a slow one may have let much gather.
constexpr size_t push_bytes_max = size_t{4} << 20U;

} // namespace

open_request::open_request(open_requests& table, uint64_t key, wire::TokenSink::Client sink,
                           kj::Own<connection_load> load, std::shared_ptr<token_stream> stream)
  : table_(table), key_(key), sink_(kj::mv(sink)), load_(kj::mv(load)), stream_(std::move(stream)) {
  ++load_->owed;
}

void open_request::cancel() {
  if (cancelled_ || stream_->ended())
    return;
  cancelled_ = true;
  table_.service_.cancel(id_);
}

void open_request::pump() {
  if (pushing_)
    return;
  auto batch = stream_->take();
  if (!batch.tokens.empty() || !batch.text.empty())
    push(batch);
  // Calls on one sink arrive in the order they were made: no need to wait for the push.
  if (batch.outcome)
    finish(*batch.outcome);
}

void open_request::push(const token_stream::batch& batch) {
  std::span<const generated_token> rest{batch.tokens};
  const size_t token_bytes = token_lists_bytes(rest.first(std::min<size_t>(1, rest.size())));
  const size_t count_max = push_bytes_max / std::max<size_t>(1, token_bytes);
  pushing_ = true;
  while (rest.size() > count_max) {
    send(rest.first(count_max), {}, false);
    rest = rest.subspan(count_max);
  }
  send(rest, batch.text, true);
}

void open_request::send(std::span<const generated_token> tokens, const std::string& text,
                        bool is_last) {
  size_t words = (token_lists_bytes(tokens) + text.size()) / sizeof(capnp::word) + 16;
  auto call = sink_.pushRequest(capnp::MessageSize{words, 0});
  write_tokens(tokens, text, call);
  table_.sends_.add(call.send().then(
    [self = kj::addRef(*this), is_last]() mutable {
      if (!is_last)
        return;
      self->pushing_ = false;
      self->pump();
    },
    [self = kj::addRef(*this)](kj::Exception&& e) mutable { self->fail(e); }));
}

void open_request::finish(const generate_outcome& outcome) {
  auto call = sink_.doneRequest();
  write_outcome(outcome, call.initOutcome());
  // Counted as open until the client has answered: a client that never does fills its own limit.
  table_.sends_.add(
    call.send().then([self = kj::addRef(*this)](auto&&) mutable { self->close(); },
                     [self = kj::addRef(*this)](kj::Exception&&) mutable { self->close(); }));
}

void open_request::fail(const kj::Exception& why) {
  if (why.getType() != kj::Exception::Type::DISCONNECTED)
    log::debug("rpc_sink_failed", {{"request", id_}});
  cancel();
  close();
}

void open_request::close() {
  stream_->close();
  if (!closed_) {
    closed_ = true;
    --load_->owed;
    table_.requests_.erase(key_);
  }
}

open_requests::open_requests(inference_service& service)
  : service_(service), ready_(std::make_shared<post_box<uint64_t>>()), sends_(*this) {}

kj::Own<open_request> open_requests::start(generate_request request, wire::TokenSink::Client sink,
                                           kj::Own<connection_load> load) {
  uint64_t key = ++key_last_;
  auto stream = std::make_shared<token_stream>(key, request.sampling.tokens_max, ready_);
  auto opened = kj::refcounted<open_request>(*this, key, kj::mv(sink), kj::mv(load), stream);
  requests_.emplace(key, kj::addRef(*opened));
  opened->id_ = service_.generate(std::move(request), std::move(stream));
  return opened;
}

void open_requests::refuse(const error& why, wire::TokenSink::Client sink,
                           kj::Own<connection_load> load) {
  auto call = sink.doneRequest();
  write_outcome(refused_outcome(why), call.initOutcome());
  ++load->owed;
  auto settle = kj::defer([owed = kj::mv(load)]() mutable { --owed->owed; });
  sends_.add(call.send().ignoreResult().attach(kj::mv(settle)));
}

void open_requests::pump_ready() {
  for (auto key : ready_->take()) {
    auto found = requests_.find(key);
    if (found != requests_.end())
      kj::addRef(*found->second)->pump();
  }
}

void open_requests::abandon() {
  for (auto& [key, request] : requests_) {
    request->cancel();
    request->stream_->close();
  }
}

void open_requests::taskFailed(kj::Exception&& exception) {
  // Only a refused client that went away before it heard so.
  if (exception.getType() != kj::Exception::Type::DISCONNECTED)
    log::debug("rpc_send_failed");
}

} // namespace penstock::schema
