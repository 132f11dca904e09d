// One process's metrics registry.
//
// Shows itself as text; status_server serves that. Knows no metric by name: probes.cpp does. Making
// instruments locks and allocates, so it is done at start-up; using them does neither.
#pragma once

#include "ops/instruments.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::ops {

/// Names and values; few, and values from a bounded set.
using metric_labels = std::vector<std::pair<std::string, std::string>>;

/// The content type of text().
inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

class metrics {
public:
  metrics();
  ~metrics();
  metrics(const metrics&) = delete;
  metrics& operator=(const metrics&) = delete;

  /// The same name and labels give the same series. Names as Prometheus wants them.
  [[nodiscard]] counter make_counter(const std::string& name, const std::string& help,
                                     const metric_labels& labels = {});
  [[nodiscard]] gauge make_gauge(const std::string& name, const std::string& help,
                                 const metric_labels& labels = {});
  /// @param bounds Upper bounds of the buckets, ascending.
  [[nodiscard]] histogram make_histogram(const std::string& name, const std::string& help,
                                         std::span<const double> bounds,
                                         const metric_labels& labels = {});

  /// @returns Everything in Prometheus's text format. Any thread.
  [[nodiscard]] std::string text() const;

private:
  struct state;
  std::unique_ptr<state> state_; // Hides the library.
};

} // namespace penstock::ops
