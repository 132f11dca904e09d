#include "apps/bench/pacer.hpp"

#include "base/check.hpp"

#include <cmath>

namespace penstock::apps::bench {

time_us poisson_arrivals::next() {
  // 53 bits, in (0, 1]: the logarithm is finite.
  auto unit = (static_cast<double>(random_.next() >> 11U) + 1.0) * 0x1p-53;
  at_us_ += -std::log(unit) / per_second_ * 1e6;
  return static_cast<time_us>(at_us_);
}

pacer::pacer(pacing how, pacer_limits limits) : how_(std::move(how)), limits_(limits) {
  if (const auto* closed = std::get_if<closed_loop>(&how_)) {
    PS_CHECK(closed->concurrency > 0);
    free_.assign(closed->concurrency, 0);
  }
  advance();
}

void pacer::advance() {
  due_.reset();
  finished_ = finished_ || taken_ >= limits_.requests_max;
  if (finished_)
    return;
  if (std::holds_alternative<closed_loop>(how_)) {
    if (!free_.empty())
      due_ = free_.back();
  } else if (auto* listed = std::get_if<listed_arrivals>(&how_)) {
    if (listed_ < listed->at.size())
      due_ = listed->at[listed_++];
    else
      finished_ = true;
  } else if (auto* poisson = std::get_if<poisson_arrivals>(&how_)) {
    due_ = poisson->next();
  } else {
    due_ = std::get<even_arrivals>(how_).next();
  }
  if (due_ && *due_ >= limits_.duration_max) {
    due_.reset();
    finished_ = true;
  }
}

time_us pacer::take() {
  PS_CHECK(due_.has_value());
  auto out = *due_;
  ++taken_;
  if (std::holds_alternative<closed_loop>(how_))
    free_.pop_back();
  advance();
  return out;
}

void pacer::ended(time_us at) {
  if (!std::holds_alternative<closed_loop>(how_) || finished_)
    return;
  free_.push_back(at);
  if (!due_)
    advance();
}

} // namespace penstock::apps::bench
