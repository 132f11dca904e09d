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

#include <cerrno>
#include <cstring>
#include <exception>
#include <map>

namespace penstock::ops {
namespace {

std::map<std::string, std::string> labels_of(const metric_labels& labels) {
  return {labels.begin(), labels.end()};
}

/// Binds and closes, because the library says only "cannot start" for whatever is wrong.
/// @returns The system's reason; empty if the address can be bound.
std::string why_not_bindable(const std::string& address) {
  size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return "it has no port";
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int code = getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (code != 0)
    return gai_strerror(code);
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner{found, &freeaddrinfo};
  int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0)
    return std::strerror(errno);
  int yes = 1; // As the library does: a port in TIME_WAIT is free.
  (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  std::string why;
  if (bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1) != 0)
    why = std::strerror(errno);
  close(fd);
  return why;
}

} // namespace

struct metrics::state {
  // The exposer keeps a weak reference, so the library wants a shared_ptr.
  std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  std::unique_ptr<prometheus::Exposer> exposer;
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
