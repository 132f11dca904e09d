// One child process of a supervisor: start, readiness, signals, end.
//
// The child gets its own process group (Ctrl-C reaches only the supervisor), an empty stdin, the
// default signal mask, and is killed by the kernel when the supervisor dies. Linux only.
#pragma once

#include "base/result.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::apps {

struct child_spec {
  std::string name;              ///< For messages.
  std::vector<std::string> argv; ///< argv[0] is the path to execute.
};

class child_process {
public:
  /// Starts it. @returns errc::io_failed if the system has no process or pipe left; a path that
  /// cannot be executed shows as an end with code 127.
  [[nodiscard]] static result<child_process> start(const child_spec& spec, uint32_t restarts);

  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  /// Kills and reaps the child if it still runs.
  ~child_process();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// @returns What becomes readable when the child is ready or gone; -1 after either was seen.
  [[nodiscard]] int ready_fd() const noexcept { return ready_fd_; }
  /// Reads ready_fd(). @returns True if the child has said that it is ready.
  [[nodiscard]] bool take_ready();
  void send_signal(int signal_number) const;
  /// To be called once waitpid() has returned this pid.
  void reaped() noexcept { pid_ = -1; }

private:
  child_process(pid_t pid, int ready_fd) noexcept : pid_(pid), ready_fd_(ready_fd) {}
  void close_ready_fd() noexcept;

  pid_t pid_ = -1;
  int ready_fd_ = -1;
};

/// @returns "exit code 2" or "signal 9 (Killed)" for a status of waitpid().
[[nodiscard]] std::string describe_wait_status(int status);

} // namespace penstock::apps
