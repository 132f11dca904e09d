// A line on the terminal that says how far a long command is. Writes nothing anywhere else.
#pragma once

#include <string>

namespace penstock::apps::bench {

/// @param share Done, in [0, 1]. @param text Beside the bar.
/// @returns One line without its end, at most 100 columns.
[[nodiscard]] std::string bar_line(double share, const std::string& text);

class progress_bar {
public:
  progress_bar();  ///< Shows something only if stderr is a terminal.
  ~progress_bar(); ///< Removes the line.
  progress_bar(const progress_bar&) = delete;
  progress_bar& operator=(const progress_bar&) = delete;

  [[nodiscard]] bool is_shown() const { return shown_; }
  void show(double share, const std::string& text);
  void clear();

private:
  bool shown_;
  bool drawn_ = false;
};

} // namespace penstock::apps::bench
