#include "apps/bench/percentiles.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace penstock::apps::bench {

percentiles::percentiles(std::vector<double> samples) : sorted_(std::move(samples)) {
  std::sort(sorted_.begin(), sorted_.end());
  if (!sorted_.empty())
    mean_
      = std::accumulate(sorted_.begin(), sorted_.end(), 0.0) / static_cast<double>(sorted_.size());
}

double percentiles::at(double share) const {
  PS_CHECK(share > 0.0 && share <= 1.0);
  if (sorted_.empty())
    return 0.0;
  // 0.9 * 10 must be rank 9, though the product may come out a hair above it.
  auto rank = std::ceil(share * static_cast<double>(sorted_.size()) - 1e-9);
  return sorted_[std::min(sorted_.size(), static_cast<size_t>(std::max(rank, 1.0))) - 1];
}

size_t percentiles::count_up_to(double bound) const {
  return static_cast<size_t>(std::upper_bound(sorted_.begin(), sorted_.end(), bound)
                             - sorted_.begin());
}

} // namespace penstock::apps::bench
