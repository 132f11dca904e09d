// The three things a probe counts with. Each refers to one time series of a metrics registry.
//
// Default-made ones count nowhere: that is how tests and simulations run without a registry. Cheap
// (one atomic addition; a histogram takes a short lock) and callable from any thread. The metrics
// object outlives every instrument it made.
#pragma once

namespace penstock::ops {

/// Only goes up.
class counter {
public:
  counter() = default;
  /// @param amount >= 0.
  void add(double amount = 1) const noexcept;
  /// @returns What was counted; 0 without a registry.
  [[nodiscard]] double value() const noexcept;

private:
  friend class metrics;
  explicit counter(void* series) : series_(series) {}
  void* series_ = nullptr; // The library's own counter.
};

/// Goes up and down.
class gauge {
public:
  gauge() = default;
  void set(double value) const noexcept;
  void add(double amount) const noexcept;
  [[nodiscard]] double value() const noexcept;

private:
  friend class metrics;
  explicit gauge(void* series) : series_(series) {}
  void* series_ = nullptr;
};

/// Counts observations by size.
class histogram {
public:
  histogram() = default;
  void observe(double value) const noexcept;

private:
  friend class metrics;
  explicit histogram(void* series) : series_(series) {}
  void* series_ = nullptr;
};

} // namespace penstock::ops
