#include "fabric/libfabric_transport.hpp"

#include "fabric/fi_reader.hpp"

#include <algorithm>
#include <array>

namespace penstock::fabric {

namespace {

/// Memory reads may land in, with its local keys. Any thread.
class destinations {
public:
  void add(std::span<std::byte> memory, fi_owner<fid_mr> registration) {
    std::lock_guard lock{mutex_};
    list_.push_back({memory, std::move(registration)});
  }
  /// @returns False if `into` lies in no registered memory.
  [[nodiscard]] bool find(std::span<const std::byte> into, void*& local_key) const {
    std::lock_guard lock{mutex_};
    for (const auto& [memory, registration] : list_) {
      if (into.data() < memory.data() || into.data() + into.size() > memory.data() + memory.size())
        continue;
      local_key = registration ? fi_mr_desc(registration.get()) : nullptr;
      return true;
    }
    return false;
  }

private:
  struct entry {
    std::span<std::byte> memory;
    fi_owner<fid_mr> registration; // Null if the provider needs none.
  };
  mutable std::mutex mutex_;
  std::vector<entry> list_;
};

/// The source's end: nothing to post, nothing to reap, but it has to be driven.
class fi_source final : public driven {
public:
  explicit fi_source(fi_end end) : end_(std::move(end)) {}

  bool drive(time_point) override {
    std::array<fi_cq_entry, 16> entries{};
    auto got = fi_cq_read(end_.completions.get(), entries.data(), entries.size());
    if (got == -FI_EAVAIL) { // A reader went in the middle of something: its trouble, not ours.
      fi_cq_err_entry entry{};
      fi_cq_readerr(end_.completions.get(), &entry, 0);
    }
    return got > 0 || got == -FI_EAVAIL;
  }
  [[nodiscard]] bool is_impatient() const override { return false; }
  [[nodiscard]] fid* waitable() const override { return &end_.completions->fid; }
  [[nodiscard]] int wait_fd() const override { return end_.wait_fd; }
  void finish(time_point) override { finished_ = true; }
  [[nodiscard]] bool is_finished() const override { return finished_; }

private:
  fi_end end_;
  bool finished_ = false;
};

class libfabric_region final : public remote_region {
public:
  libfabric_region(progress_thread& progress, const destinations& into,
                   std::unique_ptr<fi_reader> reader)
    : progress_(progress), destinations_(into), reader_(std::move(reader)) {
    progress_.add(reader_.get());
  }
  ~libfabric_region() override { progress_.remove(reader_.get()); }

  [[nodiscard]] uint64_t size_bytes() const noexcept override { return reader_->size_bytes(); }

  [[nodiscard]] result<void> read(uint64_t offset, std::span<std::byte> into,
                                  uint64_t cookie) override {
    void* local_key = nullptr;
    if (!destinations_.find(into, local_key))
      return error{errc::invalid_argument, "the destination was not registered"};
    auto queued = reader_->read(offset, into, local_key, cookie);
    if (queued)
      progress_.wake();
    return queued;
  }

  void set_handler(const transport::done_handler& on_done) {
    progress_.call([this, &on_done] { reader_->set_handler(on_done); });
  }

private:
  progress_thread& progress_;
  const destinations& destinations_;
  std::unique_ptr<fi_reader> reader_;
};

/// Takes the answer to open()'s one-byte read across threads.
class first_answer {
public:
  void take(errc code) {
    std::lock_guard lock{mutex_};
    code_ = code;
    told_ = true;
    came_.notify_one(); // Under the mutex: the waiter destroys this.
  }
  /// @returns errc::deadline_exceeded if none came.
  [[nodiscard]] errc wait(std::chrono::milliseconds limit) {
    std::unique_lock lock{mutex_};
    return came_.wait_for(lock, limit, [this] { return told_; }) ? code_ : errc::deadline_exceeded;
  }

private:
  std::mutex mutex_;
  std::condition_variable came_;
  bool told_ = false;
  errc code_ = errc::ok;
};

} // namespace

// Members go in reverse: the thread before everything it drives has been removed, the domain last.
struct libfabric_transport::state {
  std::unique_ptr<fi_domain_owner> domain;
  std::array<std::byte, 64> probe{}; // Where open()'s one byte lands.
  destinations into;
  fi_owner<fid_mr> served;
  std::unique_ptr<fi_source> source;
  std::unique_ptr<progress_thread> progress;
};

result<std::unique_ptr<transport>> libfabric_transport::create(const libfabric_options& options) {
  PS_CHECK(options.reads_in_flight_max > 0 && options.connect_timeout_ms > 0);
  auto opened = std::make_unique<state>();
  auto domain = fi_domain_owner::open(options.provider, options.bind_address);
  if (!domain)
    return domain.err();
  opened->domain = std::move(*domain);
  auto progress = progress_thread::start(opened->domain->fabric());
  if (!progress)
    return progress.err();
  opened->progress = std::move(*progress);
  std::unique_ptr<libfabric_transport> out{new libfabric_transport(options, std::move(opened))};
  if (auto probe = out->register_destination(out->state_->probe); !probe)
    return probe.err();
  return std::unique_ptr<transport>{std::move(out)};
}

libfabric_transport::libfabric_transport(libfabric_options options, std::unique_ptr<state> opened)
  : options_(std::move(options)), state_(std::move(opened)) {}

libfabric_transport::~libfabric_transport() {
  if (state_->source)
    state_->progress->remove(state_->source.get());
}

result<descriptor> libfabric_transport::serve(std::span<std::byte> memory) {
  PS_CHECK(state_->source == nullptr);
  if (memory.empty())
    return error{errc::invalid_argument, "serves 0 bytes"};
  result<descriptor> out = error{errc::internal, ""};
  state_->progress->call([this, memory, &out] {
    auto end = state_->domain->make_end(options_.reads_in_flight_max);
    auto served = state_->domain->register_memory(memory, FI_REMOTE_READ);
    auto address = end ? address_of(*end) : end.err();
    if (!end || !served || !address) {
      out = !end ? end.err() : !served ? served.err() : address.err();
      return;
    }
    bool by_address = state_->domain->reads_by_address();
    out = encode(libfabric_descriptor{
      options_.provider, std::move(*address), fi_mr_key(served->get()),
      by_address ? reinterpret_cast<uintptr_t>(memory.data()) : 0, memory.size()});
    state_->served = std::move(*served);
    state_->source = std::make_unique<fi_source>(std::move(*end));
  });
  if (state_->source)
    state_->progress->add(state_->source.get());
  return out;
}

result<std::unique_ptr<remote_region>> libfabric_transport::open(std::span<const std::byte> from,
                                                                 done_handler on_done) {
  auto parsed = parse_libfabric(from);
  if (!parsed)
    return parsed.err();
  if (parsed->provider != options_.provider)
    return error{errc::incompatible, "the source uses provider \"" + parsed->provider
                                       + "\", this transport \"" + options_.provider + '"'};
  std::chrono::milliseconds limit{options_.connect_timeout_ms};
  fi_reader_limits limits;
  limits.reads_max = options_.reads_in_flight_max;
  limits.reads_posted_max
    = std::min(std::max<size_t>(1, options_.reads_in_flight_max / 2), state_->domain->reads_max());
  limits.read_bytes_max = state_->domain->read_bytes_max();
  limits.post_within = limit;
  auto answer = std::make_unique<first_answer>(); // Outlives the region, for a late answer.
  auto probe = [to = answer.get()](std::span<const read_done> done) { to->take(done[0].code); };
  result<std::unique_ptr<fi_reader>> reader = error{errc::internal, ""};
  state_->progress->call([this, &parsed, &limits, &probe, &reader] {
    auto end = state_->domain->make_end(limits.reads_posted_max);
    fi_addr_t peer = FI_ADDR_UNSPEC;
    if (!end)
      reader = end.err();
    else if (fi_av_insert(end->addresses.get(), parsed->address.data(), 1, &peer, 0, nullptr) != 1)
      reader = error{errc::malformed, "the provider does not take the source's address"};
    else
      reader = std::make_unique<fi_reader>(std::move(*end), peer, *parsed, limits, probe);
  });
  if (!reader)
    return reader.err();
  auto region
    = std::make_unique<libfabric_region>(*state_->progress, state_->into, std::move(*reader));
  if (auto posted = region->read(0, std::span{state_->probe}.first(1), 0); !posted)
    return posted.err();
  if (errc code = answer->wait(limit + limit / 2); code != errc::ok)
    return error{errc::peer_lost, "the source does not answer (" + std::string{name_of(code)}
                                    + "): it is gone, stalled, unreachable from "
                                    + options_.bind_address + ", or was restarted"};
  region->set_handler(on_done);
  return std::unique_ptr<remote_region>{std::move(region)};
}

result<void> libfabric_transport::register_destination(std::span<std::byte> memory) {
  result<fi_owner<fid_mr>> registration = fi_owner<fid_mr>{};
  if (state_->domain->wants_local_keys())
    state_->progress->call([this, memory, &registration] {
      registration = state_->domain->register_memory(memory, FI_READ | FI_WRITE);
    });
  if (!registration)
    return registration.err();
  state_->into.add(memory, std::move(*registration));
  return {};
}

} // namespace penstock::fabric
