#include "apps/bench/load_run.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

namespace penstock::apps::bench {

namespace {

constexpr time_us progress_gap_us = 200'000;

double cpu_seconds_now() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

} // namespace

load_run::load_run(schema::rpc_client& client, std::vector<load_stream> streams) : client_(client) {
  for (auto& s : streams)
    streams_.push_back({std::move(s.what), pacer{std::move(s.when), s.limits}, s.warmup, 0});
}

time_us load_run::now() const {
  return clock_.now() - start_;
}

load_result load_run::run(const progress_handler& on_progress, time_us cut_after) {
  load_result out;
  auto cpu_before = cpu_seconds_now();
  start_ = clock_.now();
  while (!over()) {
    start_due();
    wait(on_progress, cut_after);
  }
  out.elapsed = now();
  out.cpu_seconds = cpu_seconds_now() - cpu_before;
  std::lock_guard lock{mutex_};
  out.records = std::move(records_);
  return out;
}

bool load_run::over() {
  std::lock_guard lock{mutex_};
  bool sent_all = stopped_ || std::all_of(streams_.begin(), streams_.end(), [](const auto& s) {
                    return s.when.finished();
                  });
  ended_seen_ = progress_.ended;
  return sent_all && progress_.ended == progress_.started;
}

void load_run::start_due() {
  for (uint32_t i = 0; i < streams_.size(); ++i) {
    for (;;) {
      time_us due = 0;
      {
        std::lock_guard lock{mutex_};
        auto& when = streams_[i].when;
        if (stopped_ || !when.due() || *when.due() > now())
          break;
        due = when.take();
        ++progress_.started;
      }
      start(i, due);
    }
  }
}

void load_run::start(uint32_t stream, time_us due) {
  auto& s = streams_[stream];
  auto plan = s.what.make(s.made);
  request_record* record = nullptr;
  {
    std::lock_guard lock{mutex_};
    record = &records_.emplace_back(); // A deque: it stays where it is.
  }
  record->stream = stream;
  record->index = s.made;
  record->counted = s.made >= s.warmup;
  record->cut = plan.cut;
  record->prompt_tokens = plan.prompt_tokens;
  record->output_tokens = plan.output_tokens;
  record->due = due;
  record->tokens.reserve(plan.output_tokens);
  ++s.made;
  client_.start(
    std::move(plan.request),
    {[this, record] { record->sent = now(); },
     [this, record](std::span<const generated_token> tokens, std::string_view /*text*/) {
       record->tokens.insert(record->tokens.end(), tokens.size(), now());
       record->late_tokens += record->endings > 0 ? static_cast<uint32_t>(tokens.size()) : 0;
       std::lock_guard lock{mutex_};
       progress_.tokens += tokens.size();
       return true;
     },
     [this, record](result<generate_outcome> outcome) { end(*record, std::move(outcome)); }});
}

void load_run::end(request_record& record, result<generate_outcome> outcome) {
  record.ended = now();
  ++record.endings;
  if (outcome) {
    record.outcome = std::move(*outcome);
  } else {
    record.outcome.reason = finish_reason::failed;
    record.outcome.code = outcome.err().code;
    record.outcome.detail = outcome.err().detail;
  }
  // Under the lock to the last: once run() has seen this end, nothing here may be touched.
  std::lock_guard lock{mutex_};
  streams_[record.stream].when.ended(record.ended);
  ++progress_.ended;
  changed_.notify_one();
}

void load_run::wait(const progress_handler& on_progress, time_us cut_after) {
  load_progress seen;
  bool cut = false;
  {
    std::unique_lock lock{mutex_};
    auto next = progress_.elapsed + progress_gap_us;
    if (!stopped_) {
      next = std::min(next, cut_after);
      for (const auto& s : streams_)
        next = std::min(next, s.when.due().value_or(UINT64_MAX));
    }
    if (auto at = now(); next > at)
      changed_.wait_for(lock, std::chrono::microseconds{next - at},
                        [this] { return progress_.ended != ended_seen_; });
    auto at = now();
    cut = at >= cut_after;
    if (at < progress_.elapsed + progress_gap_us && !(cut && !stopped_))
      return;
    progress_.elapsed = at;
    seen = progress_;
    cut = cut || stopped_;
  }
  if (cut)
    stop(); // Again and again: a request that was just being started is cancelled by the next.
  if (on_progress)
    on_progress(seen);
}

void load_run::stop() {
  {
    std::lock_guard lock{mutex_};
    stopped_ = true;
    changed_.notify_one();
  }
  client_.cancel();
}

} // namespace penstock::apps::bench
