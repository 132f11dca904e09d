#include "apps/child_process.hpp"

#include "apps/ready_signal.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace penstock::apps {

namespace {

/// Runs in the child. The supervisor has one thread, so anything may be called here.
[[noreturn]] void become(const child_spec& spec, int ready_fd, uint32_t restarts, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) // It died before we asked to die with it.
    _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  int empty = open("/dev/null", O_RDONLY);
  if (empty >= 0)
    dup2(empty, STDIN_FILENO);
  fcntl(ready_fd, F_SETFD, 0);
  setenv(ready_fd_variable, std::to_string(ready_fd).c_str(), 1);
  setenv(restarts_variable, std::to_string(restarts).c_str(), 1);
  std::vector<char*> argv;
  for (const auto& argument : spec.argv)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  std::string text = "cannot execute " + spec.argv[0] + ": " + std::strerror(errno) + "\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, text.data(), text.size());
  _exit(127);
}

} // namespace

result<child_process> child_process::start(const child_spec& spec, uint32_t restarts) {
  PS_CHECK(!spec.argv.empty());
  std::array<int, 2> pipe_fds{};
  if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0)
    return error{errc::io_failed, std::string{"cannot make a pipe: "} + std::strerror(errno)};
  pid_t parent = getpid();
  pid_t pid = fork();
  if (pid < 0) {
    error failed{errc::io_failed, "cannot start " + spec.name + ": " + std::strerror(errno)};
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return failed;
  }
  if (pid == 0)
    become(spec, pipe_fds[1], restarts, parent);
  close(pipe_fds[1]);
  fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
  return child_process{pid, pipe_fds[0]};
}

child_process::child_process(child_process&& other) noexcept
  : pid_(std::exchange(other.pid_, -1)), ready_fd_(std::exchange(other.ready_fd_, -1)) {}

child_process& child_process::operator=(child_process&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(ready_fd_, other.ready_fd_);
  return *this;
}

child_process::~child_process() {
  close_ready_fd();
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

bool child_process::take_ready() {
  if (ready_fd_ < 0)
    return false;
  char byte = 0;
  auto count = read(ready_fd_, &byte, 1);
  if (count < 0 && (errno == EAGAIN || errno == EINTR))
    return false;
  close_ready_fd();
  return count == 1;
}

void child_process::send_signal(int signal_number) const {
  if (pid_ > 0)
    kill(pid_, signal_number);
}

void child_process::close_ready_fd() noexcept {
  if (ready_fd_ >= 0)
    close(std::exchange(ready_fd_, -1));
}

std::string describe_wait_status(int status) {
  if (WIFEXITED(status))
    return "exit code " + std::to_string(WEXITSTATUS(status));
  int number = WTERMSIG(status);
  return "signal " + std::to_string(number) + " (" + strsignal(number) + ")";
}

} // namespace penstock::apps
