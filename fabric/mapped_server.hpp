// The source's half of mapped memory: hands its memfd to readers that know the key. Copies nothing.
//
// One thread, asleep in poll() unless a reader comes or goes. A reader connects to an abstract unix
// socket, must be the same user, and shows the 128-bit key drawn at start; it gets the memfd, and
// keeps the connection: its end tells each side of the other's death. The socket's name is random
// too, but anyone on the host can list it, so it is the key that counts.
#pragma once

#include "fabric/descriptors.hpp"
#include "fabric/unique_fd.hpp"

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace penstock::fabric {

/// What a reader sends first: this word, then the key.
inline constexpr uint64_t mapped_hello = 0x31646D6B74736E50ULL; // "Pnstkmd1"
inline constexpr size_t mapped_hello_bytes = 24;
/// What it gets back, along with the memfd: the same word, then the size.
inline constexpr size_t mapped_welcome_bytes = 16;

class mapped_server {
public:
  static constexpr size_t readers_max = 64; ///< Connected at once; more are turned away.

  /// @param memfd Sealed; borrowed until destruction.
  [[nodiscard]] static result<std::unique_ptr<mapped_server>> start(int memfd, uint64_t size_bytes);
  ~mapped_server();

  [[nodiscard]] const mapped_descriptor& described() const noexcept { return described_; }

private:
  struct reader {
    unique_fd socket;
    bool proven = false;
    std::chrono::steady_clock::time_point prove_by;
  };

  mapped_server(int memfd, mapped_descriptor described, unique_fd listener, unique_fd wake);
  void run();
  void accept_one();
  [[nodiscard]] bool serve(reader& from) const; // False: to be closed.
  [[nodiscard]] int drop_late(); // @returns Milliseconds to wait for the next one, or -1.

  int memfd_;
  mapped_descriptor described_;
  unique_fd listener_;
  unique_fd wake_;
  std::vector<reader> readers_; // The thread's own.
  std::thread thread_;          // Last: it uses all of the above.
};

} // namespace penstock::fabric
