// A thread of the fabric's own: named for the tools, deaf to signals, joined by its owner.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace penstock::fabric {

/// Starts `run` in a thread that blocks every signal, so that they reach the application's threads.
/// It inherits the caller's cores. @param name At most 15 characters.
template <class Function>
[[nodiscard]] std::thread quiet_thread(const char* name, Function run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread{std::move(run)};
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

} // namespace penstock::fabric
