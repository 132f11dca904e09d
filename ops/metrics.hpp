// One process's metrics registry, and the HTTP server that shows it to Prometheus.
//
// Knows no metric by name: probes.cpp does. Making instruments locks and allocates, so it is done
// at start-up; using them does neither.
#pragma once

#include "base/result.hpp"
#include "ops/instruments.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::ops {

/// Names and values; few, and values from a bounded set.
using metric_labels = std::vector<std::pair<std::string, std::string>>;

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

  /// @returns Everything in Prometheus's text format.
  [[nodiscard]] std::string text() const;

  /// Starts serving text() at http://ADDRESS/metrics, in threads of its own. Once.
  /// @param address "127.0.0.1:7690" or "[::1]:7690"; port 0 takes a free one.
  /// @returns errc::io_failed if the address cannot be bound, with the address and why.
  [[nodiscard]] result<void> serve(const std::string& address);
  /// @returns The port served; 0 if none.
  [[nodiscard]] uint16_t bound_port() const;

private:
  struct state;
  std::unique_ptr<state> state_; // Hides the library.
};

} // namespace penstock::ops
