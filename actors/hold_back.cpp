#include "actors/hold_back.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <utility>

namespace penstock::actors {

namespace {

/// @returns Bytes of the longest stop string that `text` ends with; 0: none.
size_t stop_at_end(const std::vector<std::string>& stops, std::string_view text) {
  size_t longest = 0;
  for (const auto& stop : stops)
    if (text.ends_with(stop))
      longest = std::max(longest, stop.size());
  return longest;
}

/// @returns Bytes at the end of `text` with which a stop string may begin.
size_t beginning_at_end(const std::vector<std::string>& stops, std::string_view text) {
  size_t longest = 0;
  for (const std::string_view stop : stops)
    for (auto size = std::min(stop.size() - 1, text.size()); size > longest; --size)
      if (text.ends_with(stop.substr(0, size)))
        longest = size;
  return longest;
}

} // namespace

hold_back::hold_back(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const auto& stop : stops_)
    PS_CHECK(!stop.empty());
}

void hold_back::push(const generated_token& token, std::string_view text, bool mid_character) {
  ++pushed_count_;
  if (stopped_)
    return;
  mid_character_ = mid_character;
  const auto end = left_bytes_ + text_.size() + text.size() + (mid_character ? 1 : 0);
  tokens_.push_back({token, end});
  append(text);
}

void hold_back::finish(std::string_view text) {
  mid_character_ = false;
  if (stopped_)
    return;
  append(text);
  if (stopped_)
    return;
  release(text_.size());
  release_tokens(UINT64_MAX);
}

hold_back::wait hold_back::waiting() const noexcept {
  if (!text_.empty())
    return {reason::stop_string, left_bytes_};
  if (mid_character_ && !stopped_)
    return {reason::utf8, left_bytes_};
  return {};
}

void hold_back::append(std::string_view text) {
  // Byte by byte, so that the stop found does not depend on how the text is cut into pieces.
  for (const char byte : text) {
    text_ += byte;
    if (const auto size = stop_at_end(stops_, text_); size > 0) {
      stopped_ = true;
      release(text_.size() - size);
      release_tokens(left_bytes_);
      text_.clear();
      tokens_.clear();
      return;
    }
  }
  release(text_.size() - beginning_at_end(stops_, text_));
  release_tokens(stops_.empty() ? UINT64_MAX : left_bytes_);
}

void hold_back::release(size_t text_bytes) {
  out_.text.append(text_, 0, text_bytes);
  text_.erase(0, text_bytes);
  left_bytes_ += text_bytes;
}

void hold_back::release_tokens(uint64_t text_end) {
  while (!tokens_.empty() && tokens_.front().text_end <= text_end) {
    out_.tokens.push_back(tokens_.front().token);
    tokens_.pop_front();
    ++token_count_;
  }
}

hold_back::output hold_back::take() {
  return std::exchange(out_, {});
}

} // namespace penstock::actors
