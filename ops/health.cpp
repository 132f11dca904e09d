#include "ops/health.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace penstock::ops {
namespace {

/// Seconds with three digits, without a locale.
std::string seconds(time_us us) {
  std::string thousandths = std::to_string(us / 1000 % 1000);
  return std::to_string(us / 1'000'000) + '.' + std::string(3 - thousandths.size(), '0')
         + thousandths;
}

std::string json_string(const std::string& text) {
  constexpr const char* digits = "0123456789abcdef";
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

const char* name_of(bool yes) {
  return yes ? "true" : "false";
}

} // namespace

std::string to_text(const health_view& view) {
  std::string out = !view.alive     ? "dead"
                    : view.draining ? "draining"
                    : view.ready    ? "ready"
                                    : "not ready";
  if (!view.reason.empty())
    out += ": " + view.reason;
  return out + ", last progress " + seconds(view.progress_age) + " s ago";
}

std::string to_json(const health_view& view) {
  return std::string{"{\"alive\":"} + name_of(view.alive) + ",\"ready\":" + name_of(view.ready)
         + ",\"draining\":" + name_of(view.draining) + ",\"reason\":" + json_string(view.reason)
         + ",\"progress_age_seconds\":" + seconds(view.progress_age) + '}';
}

void health::set_ready() {
  std::lock_guard lock{mutex_};
  if (!alive_ || draining_)
    return;
  ready_ = true;
  reason_.clear();
}

void health::set_unready(std::string reason) {
  std::lock_guard lock{mutex_};
  if (!alive_ || draining_)
    return;
  ready_ = false;
  reason_ = std::move(reason);
}

void health::set_draining() {
  std::lock_guard lock{mutex_};
  if (!alive_)
    return;
  ready_ = false;
  draining_ = true;
  reason_.clear();
}

void health::set_dead(std::string reason) {
  std::lock_guard lock{mutex_};
  if (!std::exchange(alive_, false))
    return; // The first reason is the cause.
  ready_ = false;
  reason_ = std::move(reason);
}

void health::work_began(time_us now) {
  std::lock_guard lock{mutex_};
  ++working_;
  progress_ = std::max(progress_, now);
}

void health::work_ended(time_us now) {
  std::lock_guard lock{mutex_};
  PS_CHECK(working_ > 0);
  --working_;
  progress_ = std::max(progress_, now);
}

void health::went_round(time_us now) {
  std::lock_guard lock{mutex_};
  if (working_ == 0)
    progress_ = std::max(progress_, now);
}

health_view health::view(time_us now) const {
  std::lock_guard lock{mutex_};
  health_view out{alive_, ready_, draining_, reason_, now > progress_ ? now - progress_ : 0};
  if (alive_ && out.progress_age > stall_us_max) {
    out.ready = false;
    out.reason = working_ > 0 ? "a step on the device does not end" : "the node's loop is stuck";
  }
  return out;
}

} // namespace penstock::ops
