// A process that serves known bytes until it is killed. For tests of real transports.
#pragma once

#include "base/rng.hpp"
#include "fabric/make_transport.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace penstock::fabric {

/// Fills `into` with bytes that are a function of their place.
inline void fill_pattern(std::span<std::byte> into, uint64_t seed) {
  for (size_t i = 0; i + 8 <= into.size(); i += 8) {
    uint64_t word = random_bits(seed, i);
    std::memcpy(&into[i], &word, sizeof word);
  }
}

class source_process {
public:
  /// Forks; call before this process has threads.
  source_process(const std::string& kind, uint64_t size_bytes, uint64_t seed) {
    int ends[2];
    PS_CHECK(pipe(ends) == 0);
    pid_ = fork();
    PS_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      close(ends[0]);
      run(kind, size_bytes, seed, ends[1]);
    }
    close(ends[1]);
    std::byte buffer[descriptor_bytes_max];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
      from_.insert(from_.end(), buffer, buffer + got);
    close(ends[0]);
  }
  source_process(source_process&&) = delete;
  ~source_process() { end(); }

  /// Where it serves; empty if it could not.
  [[nodiscard]] const descriptor& from() const { return from_; }

  void signal(int number) const { PS_CHECK(::kill(pid_, number) == 0); }
  /// Kills it and returns once it is gone.
  void end() {
    if (pid_ <= 0)
      return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, 0), nullptr, 0);
  }
  /// Returns once the process has stopped.
  void stop() const {
    signal(SIGSTOP);
    int status = 0;
    PS_CHECK(::waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status));
  }

private:
  [[noreturn]] static void run(const std::string& kind, uint64_t size_bytes, uint64_t seed,
                               int tell) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto memory = shared_memory::create_sealed(size_bytes);
    PS_CHECK(memory);
    fill_pattern(memory->bytes(), seed);
    transport_options options;
    options.memory = &*memory;
    auto serving = make_transport(kind, options);
    auto from = serving ? (*serving)->serve(memory->bytes()) : serving.err();
    if (!from) {
      std::fprintf(stderr, "source: %s\n", from.err().text().c_str());
      _exit(1);
    }
    PS_CHECK(::write(tell, from->data(), from->size()) == static_cast<ssize_t>(from->size()));
    close(tell);
    for (;;)
      pause();
  }

  pid_t pid_ = 0;
  descriptor from_;
};

} // namespace penstock::fabric
