#include "ops/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>

namespace penstock::ops {
namespace {

std::map<std::string, std::string> labels_of(const metric_labels& labels) {
  return {labels.begin(), labels.end()};
}

} // namespace

struct metrics::state {
  prometheus::Registry registry;
};

metrics::metrics() : state_(std::make_unique<state>()) {}
metrics::~metrics() = default;

counter metrics::make_counter(const std::string& name, const std::string& help,
                              const metric_labels& labels) {
  auto& family = prometheus::BuildCounter().Name(name).Help(help).Register(state_->registry);
  return counter{&family.Add(labels_of(labels))};
}

gauge metrics::make_gauge(const std::string& name, const std::string& help,
                          const metric_labels& labels) {
  auto& family = prometheus::BuildGauge().Name(name).Help(help).Register(state_->registry);
  return gauge{&family.Add(labels_of(labels))};
}

histogram metrics::make_histogram(const std::string& name, const std::string& help,
                                  std::span<const double> bounds, const metric_labels& labels) {
  auto& family = prometheus::BuildHistogram().Name(name).Help(help).Register(state_->registry);
  return histogram{&family.Add(
    labels_of(labels), prometheus::Histogram::BucketBoundaries{bounds.begin(), bounds.end()})};
}

std::string metrics::text() const {
  return prometheus::TextSerializer{}.Serialize(state_->registry.Collect());
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
