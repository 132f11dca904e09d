#include "schema/rpc_client.hpp"

#include "schema/address.hpp"
#include "schema/bell.hpp"
#include "schema/client_calls.hpp"
#include "schema/request_check.hpp"

#include <kj/async-unix.h>

#include <atomic>
#include <future>
#include <thread>

namespace penstock::schema {

namespace {

constexpr kj::Duration retry_pause = 50 * kj::MILLISECONDS;

std::string reason_of(const kj::Exception& e) {
  std::string text{e.getDescription().cStr()};
  auto colon = text.rfind(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

} // namespace

// The client's thread: what callers ask for comes in as tasks.
struct rpc_client::loop : private kj::TaskSet::ErrorHandler {
  explicit loop(std::string to) : address(std::move(to)) {}
  ~loop() {
    tasks.close();
    if (thread.joinable())
      thread.join();
  }

  void run(std::chrono::milliseconds timeout, std::promise<result<void>> connected);
  void serve(kj::AsyncIoContext& io, client_connection& to, std::promise<result<void>>& connected);
  result<kj::Own<client_connection>> reach(kj::AsyncIoContext& io,
                                           std::chrono::milliseconds timeout);
  kj::Promise<result<kj::Own<client_connection>>> try_once(kj::AsyncIoContext& io);

  // Runs `ask` on the loop and waits for what it promises.
  template <class T, class F>
  result<T> call(F ask);

  std::string address;
  post_box<std::function<void(client_connection&, kj::TaskSet&)>> tasks;
  std::atomic<bool> cancel_asked{false};
  std::thread thread;

private:
  void turn(client_connection& to, kj::TaskSet& running);
  void taskFailed(kj::Exception&& /*exception*/) override {} // Every task catches its own.
};

template <class T, class F>
result<T> rpc_client::loop::call(F ask) {
  std::promise<result<T>> promise;
  auto answer = promise.get_future();
  tasks.add([&promise, &ask](client_connection& to, kj::TaskSet& running) {
    running.add(ask(to).then([&promise](result<T>&& value) { promise.set_value(std::move(value)); },
                             [&promise](kj::Exception&& e) {
                               promise.set_value(error{errc::internal, reason_of(e)});
                             }));
  });
  return answer.get();
}

kj::Promise<result<kj::Own<client_connection>>> rpc_client::loop::try_once(kj::AsyncIoContext& io) {
  using reached = result<kj::Own<client_connection>>;
  return io.provider->getNetwork()
    .parseAddress(address)
    .then([](kj::Own<kj::NetworkAddress>&& to) {
      auto stream = to->connect();
      return stream.attach(kj::mv(to));
    })
    .then([this, &io](kj::Own<kj::AsyncIoStream>&& stream) -> kj::Promise<reached> {
      auto to = kj::heap<client_connection>(kj::mv(stream), io.provider->getTimer(), address);
      auto who = to->info();
      return who.then([c = kj::mv(to)](result<service_info>&& info) mutable -> reached {
        if (!info)
          return info.err();
        return kj::mv(c);
      });
    });
}

result<kj::Own<client_connection>> rpc_client::loop::reach(kj::AsyncIoContext& io,
                                                           std::chrono::milliseconds timeout) {
  auto& timer = io.provider->getTimer();
  auto deadline = timer.now() + timeout.count() * kj::MILLISECONDS;
  std::string reason;
  for (;;) {
    kj::Maybe<result<kj::Own<client_connection>>> tried;
    auto thrown = kj::runCatchingExceptions([this, &io, &timer, &tried, deadline] {
      tried = timer.timeoutAt(deadline, try_once(io)).wait(io.waitScope);
    });
    KJ_IF_MAYBE (e, thrown)
      reason = reason_of(*e);
    KJ_IF_MAYBE (t, tried) {
      if (*t)
        return kj::mv(*t);
      reason = t->err().detail;
    }
    if (timer.now() + retry_pause >= deadline)
      return error{errc::unavailable, "no gateway answers at " + address + " within "
                                        + std::to_string(timeout.count()) + " ms (" + reason
                                        + "); is it running?"};
    timer.afterDelay(retry_pause).wait(io.waitScope);
  }
}

void rpc_client::loop::turn(client_connection& to, kj::TaskSet& running) {
  for (auto& task : tasks.take())
    task(to, running);
  // After the tasks: a cancel right after a generate() means that one too.
  if (cancel_asked.exchange(false))
    to.cancel_all();
}

void rpc_client::loop::serve(kj::AsyncIoContext& io, client_connection& to,
                             std::promise<result<void>>& connected) {
  using observer = kj::UnixEventPort::FdObserver;
  observer bell{io.unixEventPort, tasks.waker().fd(), observer::OBSERVE_READ};
  kj::TaskSet running{*this};
  connected.set_value({});
  while (!tasks.closed()) {
    turn(to, running);
    if (!tasks.closed())
      bell.whenBecomesReadable().wait(io.waitScope);
  }
}

void rpc_client::loop::run(std::chrono::milliseconds timeout,
                           std::promise<result<void>> connected) {
  bool told = false;
  auto thrown = kj::runCatchingExceptions([this, timeout, &connected, &told] {
    auto io = kj::setupAsyncIo();
    auto reached = reach(io, timeout);
    told = true;
    if (!reached)
      return connected.set_value(reached.err());
    serve(io, **reached, connected);
  });
  KJ_IF_MAYBE (e, thrown) {
    if (!told)
      connected.set_value(error{errc::internal, reason_of(*e)});
  }
}

rpc_client::rpc_client(std::unique_ptr<loop> l) : loop_(std::move(l)) {}
rpc_client::~rpc_client() = default;

result<std::unique_ptr<rpc_client>> rpc_client::connect(const std::string& address,
                                                        std::chrono::milliseconds timeout) {
  auto form = check_address(address, false);
  if (!form)
    return form.err();
  auto l = std::make_unique<loop>(address);
  std::promise<result<void>> connected;
  auto answer = connected.get_future();
  l->thread = std::thread{[&state = *l, timeout, p = std::move(connected)]() mutable {
    state.run(timeout, std::move(p));
  }};
  auto reached = answer.get();
  if (!reached)
    return reached.err();
  return std::make_unique<rpc_client>(std::move(l));
}

result<service_info> rpc_client::info() {
  return loop_->call<service_info>([](client_connection& to) { return to.info(); });
}

result<generate_outcome> rpc_client::generate(const generate_request& request,
                                              const token_handler& on_tokens) {
  auto form = check_request(request);
  if (!form)
    return refused_outcome(form.err());
  return loop_->call<generate_outcome>(
    [&request, &on_tokens](client_connection& to) { return to.generate(request, on_tokens); });
}

void rpc_client::start(generate_request request, listener to) {
  struct call {
    generate_request request;
    listener to;
    void end(result<generate_outcome> outcome) const {
      if (to.on_end)
        to.on_end(std::move(outcome));
    }
  };
  // Shared by the task and the two ways it can end.
  auto started = std::make_shared<call>(call{std::move(request), std::move(to)});
  loop_->tasks.add([started](client_connection& connection, kj::TaskSet& running) {
    if (auto form = check_request(started->request); !form)
      return started->end(refused_outcome(form.err()));
    auto ended = connection.generate(started->request, started->to.on_tokens);
    if (started->to.on_sent)
      started->to.on_sent();
    running.add(ended.then(
      [started](result<generate_outcome>&& outcome) { started->end(std::move(outcome)); },
      [started](kj::Exception&& e) {
        started->end(error{errc::internal, reason_of(e)});
      }));
  });
}

void rpc_client::cancel() noexcept {
  loop_->cancel_asked.store(true);
  loop_->tasks.waker().ring();
}

} // namespace penstock::schema
