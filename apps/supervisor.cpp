#include "apps/supervisor.hpp"

#include "apps/exit_code.hpp"
#include "base/log.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace penstock::apps {

namespace {

constexpr int idle_wait_ms = 1000; // Nothing depends on it; a lost wake-up heals within this.

} // namespace

supervisor::supervisor(std::vector<child_spec> specs, supervisor_options options, const clock& time,
                       std::function<void()> on_ready)
  : options_(options), clock_(time), on_ready_(std::move(on_ready)) {
  for (auto& spec : specs)
    members_.push_back(member{std::move(spec), restart_policy{options.restart}, {}, {}, false});
  sigset_t ours;
  sigemptyset(&ours);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&ours, s);
  sigprocmask(SIG_BLOCK, &ours, &mask_before_);
  signal_fd_ = signalfd(-1, &ours, SFD_NONBLOCK | SFD_CLOEXEC);
  PS_CHECK(signal_fd_ >= 0);
}

supervisor::~supervisor() {
  close(signal_fd_);
  sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

int supervisor::run() {
  for (auto& m : members_)
    start(m);
  while (!exit_code_) {
    poll_once();
    if (!exit_code_ && !any_running())
      exit_code_ = exit_failed;
  }
  stop_all();
  return *exit_code_;
}

void supervisor::start(member& m) {
  m.start_at.reset();
  auto started = child_process::start(m.spec, m.policy.restart_count());
  if (started) {
    log::info("node_started", {{"node", m.spec.name}, {"pid", started->pid()}});
    m.process.emplace(std::move(*started));
    return;
  }
  log::error("node_not_started", {{"node", m.spec.name}, {"why", started.err().text()}});
  if (auto wait = m.policy.ended(clock_.now()))
    m.start_at = clock_.now() + *wait;
}

void supervisor::poll_once() {
  std::vector<pollfd> fds{{signal_fd_, POLLIN, 0}};
  std::vector<member*> owners{nullptr};
  for (auto& m : members_) {
    if (m.process && m.process->ready_fd() >= 0) {
      fds.push_back({m.process->ready_fd(), POLLIN, 0});
      owners.push_back(&m);
    }
  }
  if (poll(fds.data(), fds.size(), wait_ms()) > 0) {
    for (size_t i = 1; i < fds.size(); ++i)
      if (fds[i].revents != 0 && owners[i]->process->take_ready())
        note_ready(*owners[i]);
    if (fds[0].revents != 0 && told_to_stop())
      exit_code_ = exit_done;
  }
  reap();
  start_due();
}

bool supervisor::told_to_stop() {
  bool told = false;
  signalfd_siginfo info{};
  while (read(signal_fd_, &info, sizeof info) == sizeof info)
    told = told || info.ssi_signo != SIGCHLD;
  return told;
}

void supervisor::reap() {
  for (auto& m : members_) {
    int status = 0;
    if (m.process && waitpid(m.process->pid(), &status, WNOHANG) == m.process->pid()) {
      if (m.process->take_ready()) // It may have been ready, briefly.
        note_ready(m);
      m.process->reaped();
      m.process.reset();
      ended(m, status);
    }
  }
}

void supervisor::ended(member& m, int status) {
  if (exit_code_)
    return;
  auto how = describe_wait_status(status);
  if (!m.was_ready && WIFEXITED(status) && WEXITSTATUS(status) == exit_usage) {
    log::error("node_refused", {{"node", m.spec.name},
                                {"why", "its configuration, see above; nothing is restarted"}});
    exit_code_ = exit_usage;
    return;
  }
  auto wait = m.policy.ended(clock_.now());
  if (!wait) {
    log::error("node_given_up",
               {{"node", m.spec.name}, {"ended", how}, {"restarts", m.policy.restart_count()}});
    // A cluster that never worked is a failed start; one that did serves on without this node.
    if (!announced_)
      exit_code_ = exit_failed;
    return;
  }
  log::warn("node_ended", {{"node", m.spec.name}, {"ended", how}, {"restart_in_ms", *wait / 1000}});
  m.start_at = clock_.now() + *wait;
}

void supervisor::note_ready(member& m) {
  m.was_ready = true;
  log::info("node_ready", {{"node", m.spec.name}, {"restarts", m.policy.restart_count()}});
  bool all = std::all_of(members_.begin(), members_.end(),
                         [](const member& each) { return each.was_ready; });
  if (all && !announced_) {
    announced_ = true;
    on_ready_();
  }
}

void supervisor::start_due() {
  for (auto& m : members_)
    if (!exit_code_ && m.start_at && *m.start_at <= clock_.now())
      start(m);
}

void supervisor::stop_all() {
  for (auto& m : members_) {
    m.start_at.reset();
    if (m.process)
      m.process->send_signal(SIGTERM);
  }
  auto deadline = clock_.now() + options_.stop_us_max;
  while (any_running() && clock_.now() < deadline) {
    pollfd fd{signal_fd_, POLLIN, 0};
    poll(&fd, 1, 20);
    if (told_to_stop()) // Asked twice: at once.
      break;
    reap();
  }
  for (auto& m : members_) {
    if (m.process)
      log::warn("node_killed", {{"node", m.spec.name}, {"why", "did not end in time"}});
    m.process.reset(); // Kills and reaps.
  }
}

int supervisor::wait_ms() const {
  auto now = clock_.now();
  uint64_t wait = idle_wait_ms;
  for (const auto& m : members_)
    if (m.start_at)
      wait = std::min(wait, *m.start_at > now ? (*m.start_at - now) / 1000 + 1 : 0);
  return static_cast<int>(wait);
}

bool supervisor::any_running() const {
  return std::any_of(members_.begin(), members_.end(), [](const member& m) {
    return m.process.has_value() || m.start_at.has_value();
  });
}

} // namespace penstock::apps
