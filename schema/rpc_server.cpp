#include "schema/rpc_server.hpp"

#include "base/check.hpp"
#include "base/log.hpp"
#include "schema/address.hpp"
#include "schema/rpc_connection.hpp"

#include <kj/async-unix.h>
#include <unistd.h>

#include <future>
#include <thread>

namespace penstock::schema {

namespace {

using ready_box = post_box<uint64_t>;

// What a system call said, out of KJ's "bind(...): Address already in use".
std::string reason_of(const kj::Exception& e) {
  std::string text{e.getDescription().cStr()};
  auto colon = text.rfind(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// The accepting side. Destroyed on the loop's thread, before the loop.
class acceptor final : private kj::TaskSet::ErrorHandler {
public:
  acceptor(kj::Own<kj::ConnectionReceiver> listener, kj::Timer& timer, inference_service& service,
           const rpc_server_options& options)
    : listener_(kj::mv(listener)), timer_(timer), service_(service), options_(options),
      requests_(service), tasks_(*this) {
    tasks_.add(accept());
  }

  open_requests& requests() noexcept { return requests_; }

private:
  kj::Promise<void> accept() {
    return listener_->accept()
      .then(
        [this](kj::Own<kj::AsyncIoStream>&& stream) -> kj::Promise<void> {
          welcome(kj::mv(stream));
          return kj::READY_NOW;
        },
        [this](kj::Exception&& e) -> kj::Promise<void> {
          // Out of descriptors, most likely: connections that end will free some.
          log::warn("rpc_accept_failed", {{"reason", reason_of(e)}});
          return timer_.afterDelay(100 * kj::MILLISECONDS);
        })
      .then([this] { return accept(); });
  }

  void welcome(kj::Own<kj::AsyncIoStream> stream) {
    if (connections_ >= options_.connections_max) {
      log::warn("rpc_connection_refused", {{"connections_max", options_.connections_max}});
      return;
    }
    ++connections_;
    auto connection = kj::heap<rpc_connection>(
      kj::mv(stream),
      kj::heap<inference_edge>(service_, requests_, options_.requests_per_connection_max));
    auto gone = connection->gone();
    tasks_.add(gone.attach(kj::mv(connection), kj::defer([this] { --connections_; })));
  }

  void taskFailed(kj::Exception&& exception) override {
    log::debug("rpc_connection_failed", {{"reason", reason_of(exception)}});
  }

  kj::Own<kj::ConnectionReceiver> listener_;
  kj::Timer& timer_;
  inference_service& service_;
  const rpc_server_options& options_;
  uint32_t connections_ = 0;
  open_requests requests_;
  kj::TaskSet tasks_; // Last: its connections hold requests.
};

} // namespace

struct rpc_server::loop {
  loop(inference_service& s, rpc_server_options o) : service(s), options(std::move(o)) {}

  using started = result<uint16_t>;
  void run(std::promise<started> started_at);
  void serve(kj::AsyncIoContext& io, std::promise<started>& started_at, bool& told);
  kj::Promise<void> pump(kj::UnixEventPort::FdObserver& bell, open_requests& requests);

  inference_service& service;
  rpc_server_options options;
  post_box<int> orders; // Only closed, which means: stop.
  std::thread thread;
};

void rpc_server::loop::serve(kj::AsyncIoContext& io, std::promise<started>& started_at,
                             bool& told) {
  auto path = unix_path_of(options.address);
  remove_dead_socket(path);
  auto address = io.provider->getNetwork().parseAddress(options.address).wait(io.waitScope);
  auto listener = address->listen();
  auto port = path.empty() ? static_cast<uint16_t>(listener->getPort()) : uint16_t{0};
  acceptor accepts{kj::mv(listener), io.provider->getTimer(), service, options};
  auto& requests = accepts.requests();
  using observer = kj::UnixEventPort::FdObserver;
  observer ready{io.unixEventPort, requests.ready().waker().fd(), observer::OBSERVE_READ};
  observer stop{io.unixEventPort, orders.waker().fd(), observer::OBSERVE_READ};
  started_at.set_value(port);
  told = true;
  pump(ready, requests).exclusiveJoin(stop.whenBecomesReadable()).wait(io.waitScope);
  requests.abandon();
  if (!path.empty())
    ::unlink(path.c_str());
}

kj::Promise<void> rpc_server::loop::pump(kj::UnixEventPort::FdObserver& bell,
                                         open_requests& requests) {
  requests.pump_ready();
  return bell.whenBecomesReadable().then([this, &bell, &requests] { return pump(bell, requests); });
}

void rpc_server::loop::run(std::promise<started> started_at) {
  bool told = false;
  auto thrown = kj::runCatchingExceptions([this, &started_at, &told] {
    auto io = kj::setupAsyncIo();
    serve(io, started_at, told);
  });
  KJ_IF_MAYBE (e, thrown) {
    if (!told)
      started_at.set_value(
        error{errc::io_failed, "cannot listen on " + options.address + ": " + reason_of(*e)
                                 + "; choose another address, or stop what uses it"});
    else
      log::error("rpc_loop_failed", {{"reason", reason_of(*e)}});
  }
}

rpc_server::rpc_server(inference_service& service, rpc_server_options options)
  : loop_(std::make_unique<loop>(service, std::move(options))) {
  PS_CHECK(loop_->options.connections_max >= 1);
  PS_CHECK(loop_->options.requests_per_connection_max >= 1);
}

rpc_server::~rpc_server() {
  stop();
}

result<uint16_t> rpc_server::start() {
  PS_CHECK(!loop_->thread.joinable());
  auto form = check_address(loop_->options.address, true);
  if (!form)
    return form.err();
  std::promise<loop::started> started_at;
  auto answer = started_at.get_future();
  loop_->thread
    = std::thread{[this, p = std::move(started_at)]() mutable { loop_->run(std::move(p)); }};
  return answer.get();
}

void rpc_server::stop() {
  if (!loop_->thread.joinable())
    return;
  loop_->orders.close();
  loop_->thread.join();
}

} // namespace penstock::schema
