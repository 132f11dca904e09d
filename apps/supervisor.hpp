// Keeps a set of child processes running until it is told to stop. What `penstock up` is made of.
//
// One thread, no locks: signals arrive through a signalfd, children through their pipes. A child
// that ends before it was first ready with exit code 2 has refused its configuration: restarting
// cannot help, everything stops. Which other ends are worth a restart is restart_policy's choice.
#pragma once

#include "apps/child_process.hpp"
#include "apps/restart_policy.hpp"
#include "base/clock.hpp"

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace penstock::apps {

struct supervisor_options {
  restart_limits restart;
  uint64_t stop_us_max = 5'000'000; ///< From SIGTERM to SIGKILL when stopping.
};

class supervisor {
public:
  /// @param on_ready Called once, when every child has been ready at least once.
  supervisor(std::vector<child_spec> specs, supervisor_options options, const clock& time,
             std::function<void()> on_ready);
  ~supervisor();
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  /// Starts everything; returns after SIGINT, SIGTERM or SIGHUP, or when it has to give up, with no
  /// child left. Takes over these signals and SIGCHLD for the process.
  /// @returns An exit code: done if it was told to stop.
  [[nodiscard]] int run();

private:
  struct member {
    child_spec spec;
    restart_policy policy;
    std::optional<child_process> process;
    std::optional<time_us> start_at; ///< When to start it again.
    bool was_ready = false;
  };

  void start(member& m);
  void poll_once();
  [[nodiscard]] bool told_to_stop();
  void reap();
  void ended(member& m, int status);
  void note_ready(member& m);
  void start_due();
  void stop_all();
  [[nodiscard]] int wait_ms() const;
  [[nodiscard]] bool any_running() const;

  std::vector<member> members_;
  supervisor_options options_;
  const clock& clock_;
  std::function<void()> on_ready_;
  int signal_fd_ = -1;
  sigset_t mask_before_{};
  bool announced_ = false;
  std::optional<int> exit_code_; // Set: stop.
};

} // namespace penstock::apps
