// Samples and what stands at a share of them: exact, by nearest rank. Nothing is binned or guessed.
#pragma once

#include <cstddef>
#include <vector>

namespace penstock::apps::bench {

class percentiles {
public:
  percentiles() = default;
  /// @param samples In any order and unit; none is a NaN.
  explicit percentiles(std::vector<double> samples);

  /// @param share In (0, 1]; 0.5 is the median.
  /// @returns The smallest sample that at least `share` of all do not exceed; 0 if there is none.
  [[nodiscard]] double at(double share) const;
  [[nodiscard]] double median() const { return at(0.5); }
  [[nodiscard]] double max() const { return at(1.0); }
  [[nodiscard]] double min() const { return sorted_.empty() ? 0.0 : sorted_.front(); }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] size_t count() const { return sorted_.size(); }
  /// @returns How many samples are at most `bound`.
  [[nodiscard]] size_t count_up_to(double bound) const;

private:
  std::vector<double> sorted_;
  double mean_ = 0.0;
};

} // namespace penstock::apps::bench
