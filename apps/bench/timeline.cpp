#include "apps/bench/timeline.hpp"

#include <algorithm>
#include <cstddef>

namespace penstock::apps::bench {

namespace {

constexpr size_t stretches = 1000; // More than a plot has columns to tell apart.

double ms(time_us at) {
  return static_cast<double>(at) / 1e3;
}

} // namespace

bool thin_out(std::vector<timeline_point>& points, size_t points_max) {
  if (points.size() <= points_max)
    return false;
  std::sort(points.begin(), points.end(),
            [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  auto count = std::max<size_t>(1, std::min(stretches, points_max));
  std::vector<timeline_point> kept;
  for (size_t i = 0; i < count; ++i) {
    auto from = points.begin() + static_cast<ptrdiff_t>(points.size() * i / count);
    auto to = points.begin() + static_cast<ptrdiff_t>(points.size() * (i + 1) / count);
    auto end = from + std::min<ptrdiff_t>(static_cast<ptrdiff_t>(points_max / count), to - from);
    std::partial_sort(from, end, to,
                      [](const auto& a, const auto& b) { return a.gap_ms > b.gap_ms; });
    kept.insert(kept.end(), from, end);
  }
  points = std::move(kept);
  return true;
}

timeline timeline_of(const std::deque<request_record>& records, std::string title,
                     const std::function<bool(const request_record&)>& has_points,
                     const std::function<bool(const request_record&)>& is_marked) {
  timeline out;
  out.title = std::move(title);
  uint32_t number = 0;
  for (const auto& r : records) {
    ++number;
    if (has_points(r))
      for (size_t i = 1; i < r.tokens.size(); ++i)
        out.points.push_back({ms(r.tokens[i]), ms(r.tokens[i] - r.tokens[i - 1]), number});
    if (is_marked(r))
      out.prompts.push_back({ms(r.due), ms(r.tokens.empty() ? r.ended : r.tokens.front()),
                             std::max(r.prompt_tokens, r.outcome.usage.prompt_tokens)});
  }
  out.thinned = thin_out(out.points, timeline_points_max);
  std::sort(out.points.begin(), out.points.end(),
            [](const auto& a, const auto& b) { return a.at_ms < b.at_ms; });
  if (out.prompts.size() > timeline_prompts_max) {
    std::stable_sort(out.prompts.begin(), out.prompts.end(),
                     [](const auto& a, const auto& b) { return a.tokens > b.tokens; });
    out.prompts.resize(timeline_prompts_max);
  }
  return out;
}

} // namespace penstock::apps::bench
