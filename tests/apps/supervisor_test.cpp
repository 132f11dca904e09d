#include "apps/exit_code.hpp"
#include "apps/supervisor.hpp"
#include "base/log.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace penstock::apps {
namespace {

constexpr const char* ready_then_wait = "printf r >&$PENSTOCK_READY_FD; exec sleep 1000";

child_spec shell(const std::string& name, const std::string& script) {
  return {name, {"/bin/bash", "-c", script}};
}

supervisor_options quick() {
  supervisor_options o;
  o.restart = {.backoff_us_min = 1000, .backoff_us_max = 4000, .burst = 3};
  o.stop_us_max = 20'000'000; // Long: only a child that ignores SIGTERM may need it.
  return o;
}

void stop_this_process() {
  kill(getpid(), SIGTERM); // Blocked by the supervisor, so it reads it.
}

class supervisor_test : public testing::Test {
protected:
  supervisor_test() { log::set_level(log::level::error); }
  ~supervisor_test() override { log::set_level(log::level::info); }

  steady_clock time_;
};

TEST_F(supervisor_test, announces_once_when_all_are_ready_and_stops_when_told) {
  int announced = 0;
  supervisor s{{shell("a", ready_then_wait), shell("b", ready_then_wait)}, quick(), time_, [&] {
                 ++announced;
                 stop_this_process();
               }};
  EXPECT_EQ(s.run(), exit_done);
  EXPECT_EQ(announced, 1);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(supervisor_test, restarts_what_dies_and_tells_it_how_often) {
  auto script = std::string{"[ $PENSTOCK_RESTARTS -ge 2 ] || kill -9 $$; "} + ready_then_wait;
  bool ready = false;
  supervisor s{{shell("a", script)}, quick(), time_, [&] {
                 ready = true;
                 stop_this_process();
               }};
  EXPECT_EQ(s.run(), exit_done);
  EXPECT_TRUE(ready);
}

TEST_F(supervisor_test, stops_all_when_a_child_refuses_its_configuration) {
  supervisor s{{shell("a", ready_then_wait), shell("b", "exit 2")}, quick(), time_, [] {
                 ADD_FAILURE() << "never ready";
               }};
  EXPECT_EQ(s.run(), exit_usage);
}

TEST_F(supervisor_test, gives_up_on_a_start_that_keeps_failing) {
  auto counter
    = std::filesystem::temp_directory_path() / ("supervisor_test." + std::to_string(getpid()));
  supervisor s{{shell("a", "echo start >> " + counter.string() + "; exit 1")}, quick(), time_, [] {
                 ADD_FAILURE() << "never ready";
               }};
  EXPECT_EQ(s.run(), exit_failed);
  std::ifstream lines(counter);
  int starts = 0;
  for (std::string line; std::getline(lines, line);)
    ++starts;
  std::filesystem::remove(counter);
  EXPECT_EQ(starts, 4) << "once, and the burst of restarts";
}

TEST_F(supervisor_test, serves_on_without_a_node_that_fails_after_the_cluster_was_ready) {
  // b is ready, dies, and then fails until it is given up; a would keep the supervisor going.
  auto flapping = std::string{"[ $PENSTOCK_RESTARTS -eq 0 ] && printf r >&$PENSTOCK_READY_FD; "
                              "[ $PENSTOCK_RESTARTS -eq 3 ] && kill -TERM $PPID; exit 1"};
  supervisor s{{shell("a", ready_then_wait), shell("b", flapping)}, quick(), time_, [] {}};
  EXPECT_EQ(s.run(), exit_done) << "ended by the signal of b's last start, not by its end";
}

TEST_F(supervisor_test, kills_a_child_that_ignores_the_request_to_stop) {
  auto options = quick();
  options.stop_us_max = 1000;
  supervisor s{{shell("a", "trap '' TERM; printf r >&$PENSTOCK_READY_FD; while :; do :; done")},
               options,
               time_,
               stop_this_process};
  EXPECT_EQ(s.run(), exit_done);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(supervisor_test, fails_when_the_program_cannot_be_executed) {
  supervisor s{{{"a", {"/nonexistent/program"}}}, quick(), time_, [] {}};
  EXPECT_EQ(s.run(), exit_failed);
}

TEST_F(supervisor_test, children_die_when_the_supervisor_is_killed) {
  std::array<int, 2> held{};
  ASSERT_EQ(pipe(held.data()), 0); // The child inherits the writing end: its death closes it.
  pid_t pid = fork();
  if (pid == 0) {
    close(held[0]);
    auto script = "printf c >&" + std::to_string(held[1]) + "; " + ready_then_wait;
    supervisor s{{shell("a", script)}, quick(), time_, [] {}};
    _exit(s.run());
  }
  close(held[1]);
  char byte = 0;
  ASSERT_EQ(read(held[0], &byte, 1), 1);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  EXPECT_EQ(read(held[0], &byte, 1), 0) << "end of file once nobody holds the pipe";
  close(held[0]);
}

} // namespace
} // namespace penstock::apps
