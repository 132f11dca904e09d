#include "ops/metrics.hpp"

#include "base/check.hpp"

#include <netdb.h>
#include <prometheus/counter.h>
#include <prometheus/exposer.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <thread>

namespace penstock::ops {
namespace {

std::map<std::string, std::string> labels_of(const metric_labels& labels) {
  return {labels.begin(), labels.end()};
}

using address_info = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// @returns `address` for the socket calls; null with the reason in `why` if it is none.
address_info resolve(const std::string& address, std::string& why) {
  address_info none{nullptr, &freeaddrinfo};
  size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    why = "it has no port";
    return none;
  }
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int code = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (code != 0) {
    why = gai_strerror(code);
    return none;
  }
  return {found, &freeaddrinfo};
}

/// Binds and closes, because the library says only "cannot start" for whatever is wrong.
/// @returns The system's reason; empty if the address can be bound.
std::string why_not_bindable(const std::string& address) {
  std::string why;
  address_info at = resolve(address, why);
  if (at == nullptr)
    return why;
  int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return std::strerror(errno);
  int yes = 1; // As the library does: a port in TIME_WAIT is free.
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, 1) != 0)
    why = std::strerror(errno);
  close(fd);
  return why;
}

/// Connects and closes at once.
void poke(const std::string& address) {
  std::string why;
  address_info at = resolve(address, why);
  if (at == nullptr)
    return;
  int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return;
  (void)connect(fd, at->ai_addr, at->ai_addrlen);
  close(fd);
}

} // namespace

struct metrics::state {
  // The exposer keeps a weak reference, so the library wants a shared_ptr.
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::unique_ptr<prometheus::Exposer> exposer;
  std::string address; // With the port that was bound.

  ~state() { stop(); }

  /// The library's server looks at its stop flag only every two seconds, or when somebody connects.
  void stop() {
    if (exposer == nullptr)
      return;
    std::atomic<bool> stopped = false;
    std::thread waker{[this, &stopped] {
      while (!stopped) {
        poke(address);
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
      }
    }};
    exposer.reset();
    stopped = true;
    waker.join();
  }
};

metrics::metrics() : state_(std::make_unique<state>()) {}
metrics::~metrics() = default;

counter metrics::make_counter(const std::string& name, const std::string& help,
                              const metric_labels& labels) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(*state_->registry);
  return counter{&family.Add(labels_of(labels))};
}

gauge metrics::make_gauge(const std::string& name, const std::string& help,
                          const metric_labels& labels) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(*state_->registry);
  return gauge{&family.Add(labels_of(labels))};
}

histogram metrics::make_histogram(const std::string& name, const std::string& help,
                                  std::span<const double> bounds, const metric_labels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(*state_->registry);
  return histogram{&family.Add(
    labels_of(labels), prometheus::Histogram::BucketBoundaries{bounds.begin(), bounds.end()})};
}

std::string metrics::text() const {
  return prometheus::TextSerializer{}.Serialize(state_->registry->Collect());
}

result<void> metrics::serve(const std::string& address) {
  PS_CHECK(state_->exposer == nullptr);
  std::string hint = "; choose another metrics address in the cluster file";
  if (std::string why = why_not_bindable(address); !why.empty())
    return error{errc::io_failed, "cannot serve metrics at " + address + ": " + why + hint};
  try {
    state_->exposer = std::make_unique<prometheus::Exposer>(address, 1);
    state_->exposer->RegisterCollectable(state_->registry);
  } catch (const std::exception& e) {
    state_->exposer.reset();
    return error{errc::io_failed, "cannot serve metrics at " + address + ": " + e.what() + hint};
  }
  state_->address = address.substr(0, address.rfind(':') + 1) + std::to_string(bound_port());
  return {};
}

uint16_t metrics::bound_port() const {
  if (state_->exposer == nullptr)
    return 0;
  auto ports = state_->exposer->GetListeningPorts();
  return ports.empty() ? uint16_t{0} : static_cast<uint16_t>(ports.front());
}

void counter::add(double amount) const noexcept {
  if (series_ != nullptr)
    static_cast<prometheus::Counter*>(series_)->Increment(amount);
}

double counter::value() const noexcept {
  return series_ == nullptr ? 0 : static_cast<prometheus::Counter*>(series_)->Value();
}

void gauge::set(double value) const noexcept {
  if (series_ != nullptr)
    static_cast<prometheus::Gauge*>(series_)->Set(value);
}

void gauge::add(double amount) const noexcept {
  if (series_ != nullptr)
    static_cast<prometheus::Gauge*>(series_)->Increment(amount);
}

double gauge::value() const noexcept {
  return series_ == nullptr ? 0 : static_cast<prometheus::Gauge*>(series_)->Value();
}

void histogram::observe(double value) const noexcept {
  if (series_ != nullptr)
    static_cast<prometheus::Histogram*>(series_)->Observe(value);
}

} // namespace penstock::ops
