// Programs as a test runs them: one to its end, or one in the background. Everything has a time
// limit, after which the program is killed and the test fails.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace penstock::e2e {

struct finished {
  int exit_code = -1; ///< -1: killed by a signal or by the time limit.
  std::string out;
  std::string err;
};

class process {
public:
  /// Starts it with pipes for all three streams; stdin gets `input` and ends.
  explicit process(std::vector<std::string> argv, const std::string& input = {});
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process(); ///< Kills it if it still runs.

  /// Reads its output until `enough` says so of what came so far. @returns False at its end.
  bool read_until(const std::function<bool(const finished&)>& enough, int seconds_max = 60);
  /// Waits for its end.
  const finished& wait(int seconds_max = 60);
  void send_signal(int number) const;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const finished& so_far() const { return seen_; }

private:
  bool read_some(int wait_ms); ///< False once both streams have ended.

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  finished seen_;
};

/// Runs a program to its end.
finished run(std::vector<std::string> argv, const std::string& input = {}, int seconds_max = 60);

} // namespace penstock::e2e
