// Runs a load against a gateway: sends each request when its pacer says, and writes down what comes
// back. Judges nothing.
//
// Two threads: this one paces and makes prompts, the client's sends and takes the time of tokens.
// All streams share one connection. How late requests were sent, and how much of a core both took,
// is measured: whoever reports figures must say if the generator was the bottleneck.
#pragma once

#include "apps/bench/pacer.hpp"
#include "apps/bench/request_record.hpp"
#include "apps/bench/workload.hpp"
#include "schema/rpc_client.hpp"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace penstock::apps::bench {

struct load_stream {
  workload what;
  pacing when;
  pacer_limits limits;
  uint64_t warmup = 0; ///< That many of its first requests are not counted.
};

struct load_progress {
  time_us elapsed = 0;
  uint64_t started = 0;
  uint64_t ended = 0;
  uint64_t tokens = 0;
};

struct load_result {
  std::deque<request_record> records; ///< In the order they were due.
  time_us elapsed = 0;                ///< Start to last end.
  double cpu_seconds = 0.0;           ///< Of this process meanwhile.
};

class load_run {
public:
  /// @param client Outlives this. Nobody else uses it meanwhile.
  load_run(schema::rpc_client& client, std::vector<load_stream> streams);

  /// Called now and then from run(), a few times per second; may be empty.
  using progress_handler = std::function<void(const load_progress&)>;

  /// Returns when every request has ended. Once.
  /// @param cut_after All running requests are cancelled that long after the start.
  [[nodiscard]] load_result run(const progress_handler& on_progress,
                                time_us cut_after = UINT64_MAX);

  /// Ends early: cancels what runs, starts nothing. Any thread.
  void stop();

private:
  struct stream_state {
    workload what;
    pacer when;
    uint64_t warmup = 0;
    uint64_t made = 0;
  };

  [[nodiscard]] time_us now() const;
  void start_due();
  void start(uint32_t stream, time_us due);
  void wait(const progress_handler& on_progress, time_us cut_after);
  void end(request_record& record, result<generate_outcome> outcome);
  [[nodiscard]] bool over();

  schema::rpc_client& client_;
  steady_clock clock_;
  time_us start_ = 0;

  std::mutex mutex_; // Guards all below. Not the records: their own request's thread writes them.
  std::condition_variable changed_;
  std::vector<stream_state> streams_;
  std::deque<request_record> records_;
  load_progress progress_;
  uint64_t ended_seen_ = 0; ///< By over(); a later end wakes wait().
  bool stopped_ = false;
};

} // namespace penstock::apps::bench
