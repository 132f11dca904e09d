// Tokens over time, as a plot shows them: a point per token, a bar per prompt being prefilled.
#pragma once

#include "apps/bench/request_record.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace penstock::apps::bench {

inline constexpr size_t timeline_points_max
  = 40'000; ///< Of one plot; a browser draws them at once.
inline constexpr size_t timeline_prompts_max = 500;

struct timeline_point {
  double at_ms = 0.0;  ///< When the token came, since the load's start.
  double gap_ms = 0.0; ///< Since the token before it.
  uint32_t request = 0;
};

struct timeline_prompt {
  double from_ms = 0.0; ///< Due.
  double to_ms = 0.0;   ///< First token; or the end, if there was none.
  uint32_t tokens = 0;
};

struct timeline {
  std::string title;
  std::vector<timeline_point> points;
  std::vector<timeline_prompt> prompts;
  bool thinned = false; ///< Some points are left out; the largest gaps are not.
};

/// @param has_points Whose tokens are drawn. @param is_marked Whose prefill is.
[[nodiscard]] timeline timeline_of(const std::deque<request_record>& records, std::string title,
                                   const std::function<bool(const request_record&)>& has_points,
                                   const std::function<bool(const request_record&)>& is_marked);

/// Leaves at most `points_max`: of every stretch of time the largest gaps.
/// @returns False if nothing was left out.
bool thin_out(std::vector<timeline_point>& points, size_t points_max);

} // namespace penstock::apps::bench
