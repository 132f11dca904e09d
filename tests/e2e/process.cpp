#include "process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>

namespace penstock::e2e {

namespace {

using std::chrono::steady_clock;

struct pipe_ends {
  int reading = -1;
  int writing = -1;
};

pipe_ends make_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0)
    std::abort();
  return {fds[0], fds[1]};
}

/// @returns False at the end of the stream, which is then closed.
bool append_from(int& fd, std::string& to) {
  std::array<char, 16384> part{};
  auto count = read(fd, part.data(), part.size());
  if (count > 0) {
    to.append(part.data(), static_cast<size_t>(count));
    return true;
  }
  close(fd);
  fd = -1;
  return false;
}

void write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    auto count = write(fd, text.data() + at, text.size() - at);
    if (count <= 0)
      return; // It does not want its input: its affair.
    at += static_cast<size_t>(count);
  }
}

} // namespace

process::process(std::vector<std::string> argv, const std::string& input) {
  signal(SIGPIPE, SIG_IGN);
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  std::vector<char*> arguments;
  for (auto& argument : argv)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_DFL);
    dup2(in.reading, STDIN_FILENO);
    dup2(out.writing, STDOUT_FILENO);
    dup2(err.writing, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(in.reading);
  close(out.writing);
  close(err.writing);
  out_ = out.reading;
  err_ = err.reading;
  write_all(in.writing, input);
  close(in.writing);
}

process::~process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (int fd : {out_, err_})
    if (fd >= 0)
      close(fd);
}

bool process::read_some(int wait_ms) {
  std::array<pollfd, 2> fds{{{out_, POLLIN, 0}, {err_, POLLIN, 0}}};
  if (poll(fds.data(), fds.size(), wait_ms) > 0) {
    if (out_ >= 0 && fds[0].revents != 0)
      append_from(out_, seen_.out);
    if (err_ >= 0 && fds[1].revents != 0)
      append_from(err_, seen_.err);
  }
  return out_ >= 0 || err_ >= 0;
}

bool process::read_until(const std::function<bool(const finished&)>& enough, int seconds_max) {
  auto end = steady_clock::now() + std::chrono::seconds(seconds_max);
  while (!enough(seen_)) {
    if (!read_some(100))
      return enough(seen_);
    if (steady_clock::now() > end) {
      ADD_FAILURE() << "no such output within " << seconds_max << " s\n" << seen_.err;
      return false;
    }
  }
  return true;
}

const finished& process::wait(int seconds_max) {
  auto end = steady_clock::now() + std::chrono::seconds(seconds_max);
  while (read_some(100)) {
    if (steady_clock::now() > end) {
      ADD_FAILURE() << "still running after " << seconds_max << " s, killed\n" << seen_.err;
      kill(pid_, SIGKILL);
      break;
    }
  }
  int status = 0;
  if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_)
    seen_.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  pid_ = -1;
  return seen_;
}

void process::send_signal(int number) const {
  if (pid_ > 0)
    kill(pid_, number);
}

finished run(std::vector<std::string> argv, const std::string& input, int seconds_max) {
  process p{std::move(argv), input};
  return p.wait(seconds_max);
}

} // namespace penstock::e2e
