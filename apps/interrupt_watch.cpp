#include "apps/interrupt_watch.hpp"

#include <pthread.h>

namespace penstock::apps {

interrupt_watch::interrupt_watch() {
  sigemptyset(&watched_);
  for (int s : {SIGINT, SIGTERM, SIGUSR1}) // SIGUSR1 is our own call to stop watching.
    sigaddset(&watched_, s);
  pthread_sigmask(SIG_BLOCK, &watched_, &mask_before_);
}

interrupt_watch::~interrupt_watch() {
  if (thread_.joinable()) {
    over_ = true;
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void interrupt_watch::start(std::function<void()> on_interrupt) {
  thread_ = std::thread([this, on_interrupt = std::move(on_interrupt)] {
    int number = 0;
    while (!over_) {
      if (sigwait(&watched_, &number) != 0 || number == SIGUSR1)
        continue;
      if (!interrupted_.exchange(true))
        on_interrupt();
    }
  });
}

} // namespace penstock::apps
