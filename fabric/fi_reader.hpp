// The reader's end of one libfabric source: an endpoint of its own and the reads in flight on it.
//
// read() only queues; posting and reaping happen on the progress thread. After the first error, or
// when the provider takes no post for too long, the end is broken for good, because an endpoint of
// tcp;ofi_rxm does not recover from either: what is in flight is drained, the endpoint closed, and
// only then are the reads that never completed reported, so that no late byte follows a completion.
// Draining ends when nothing is in flight or nothing has completed for `quiet`: a stalled endpoint
// can be closed safely, one with live traffic cannot.
#pragma once

#include "fabric/descriptors.hpp"
#include "fabric/progress_thread.hpp"
#include "fabric/transport.hpp"

#include <deque>
#include <optional>

namespace penstock::fabric {

struct fi_reader_limits {
  size_t reads_max = 0;        ///< Accepted and not completed, > 0.
  size_t reads_posted_max = 0; ///< Of them with the provider, > 0; the rest wait their turn.
  size_t read_bytes_max = 0;   ///< > 0.
  std::chrono::milliseconds post_within{0}; ///< How long the provider may refuse a post.
  std::chrono::milliseconds quiet{200};     ///< See above.
};

class fi_reader final : public driven {
public:
  /// @param peer The source's address in `end`'s table.
  fi_reader(fi_end end, fi_addr_t peer, libfabric_descriptor source, const fi_reader_limits& limits,
            transport::done_handler on_done);

  /// Any thread. @param local_key From fi_mr_desc, or null. @returns As remote_region::read.
  [[nodiscard]] result<void> read(uint64_t offset, std::span<std::byte> into, void* local_key,
                                  uint64_t cookie);

  [[nodiscard]] uint64_t size_bytes() const noexcept { return source_.size_bytes; }

  // The rest on the progress thread.
  void set_handler(transport::done_handler on_done) { on_done_ = std::move(on_done); }
  bool drive(time_point now) override;
  [[nodiscard]] bool is_impatient() const override { return refused_ || draining_; }
  [[nodiscard]] fid* waitable() const override;
  [[nodiscard]] int wait_fd() const override { return end_ ? end_->wait_fd : -1; }
  void finish(time_point now) override;
  [[nodiscard]] bool is_finished() const override { return !end_.has_value(); }

private:
  struct slot {
    fi_context2 context{}; // First: libfabric gives its address back.
    bool busy = false;
    uint64_t cookie = 0;
    uint64_t offset = 0;
    std::span<std::byte> into;
    void* local_key = nullptr;
  };

  void take_posts();
  [[nodiscard]] bool post(time_point now);
  [[nodiscard]] bool reap();
  void reap_error();
  void break_off(errc code, time_point now);
  void close_end();
  void tell();

  const libfabric_descriptor source_;
  const fi_reader_limits limits_;

  std::mutex mutex_;
  std::vector<slot*> free_; // Under the mutex.
  std::deque<slot*> posts_; // Under the mutex: read() to progress thread.
  errc broken_ = errc::ok;  // Under the mutex.

  transport::done_handler on_done_;
  std::optional<fi_end> end_; // Empty once closed.
  fi_addr_t peer_;
  std::vector<slot> slots_;
  std::deque<slot*> backlog_; // Taken from posts_, not yet accepted by the provider.
  size_t in_flight_ = 0;      // With the provider.
  bool refused_ = false;      // The provider did not take the last post.
  bool draining_ = false;
  bool silent_ = false; // The region is being destroyed: tell nobody.
  time_point moved_at_; // Last post taken or completion seen, or first refusal since.
  std::vector<read_done> done_;
};

} // namespace penstock::fabric
