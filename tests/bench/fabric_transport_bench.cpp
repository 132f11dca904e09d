// GB/s of one region's reads, window 8, between two processes on this host: ours beside raw
// fi_read (same provider, source, unit, window, wait mode), and mapped beside memcpy.
//
// Each iteration moves the same bytes both ways, in turns, so that a noisy machine hits both.
// Counters: ours and bound in GB/s, ratio = ours / bound, cpu_s_per_GB of this process for ours.
#include "fabric/descriptors.hpp"
#include "fabric/fi_domain.hpp"
#include "tests/fabric/source_process.hpp"

#include <benchmark/benchmark.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace penstock::fabric {
namespace {

constexpr uint64_t mib = uint64_t{1} << 20U;
constexpr uint64_t source_bytes = 64 * mib;
constexpr size_t window = 8;
constexpr uint64_t seed = 3;

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(used.ru_utime) + of(used.ru_stime);
}

bool is_right(std::span<const std::byte> landing) {
  std::vector<std::byte> expected(landing.size());
  fill_pattern(expected, seed);
  return std::ranges::equal(landing, expected);
}

/// Our transport, driven by a thread that is told of completions and posts the next reads.
class our_reader {
public:
  our_reader(const std::string& kind, const descriptor& from, std::span<std::byte> landing)
    : landing_(landing) {
    transport_options options;
    options.reads_in_flight_max = 2 * window; // Half of them with the provider.
    auto made = make_transport(kind, options);
    PS_CHECK(made);
    transport_ = std::move(*made);
    PS_CHECK(transport_->register_destination(landing));
    auto opened = transport_->open(from, [this](std::span<const read_done> done) {
      std::lock_guard lock{mutex_};
      for (const auto& each : done)
        PS_CHECK(each.code == errc::ok);
      done_ += done.size();
      came_.notify_one();
    });
    PS_CHECK(opened);
    region_ = std::move(*opened);
  }
  void read_all(uint64_t unit) {
    size_t wanted = landing_.size() / unit;
    done_ = 0;
    for (size_t posted = 0; posted < wanted; ++posted) {
      wait_for(posted < 2 * window ? 0 : posted - 2 * window + 1);
      PS_CHECK(region_->read(posted * unit, landing_.subspan(posted * unit, unit), posted));
    }
    wait_for(wanted);
  }

private:
  void wait_for(size_t count) {
    std::unique_lock lock{mutex_};
    came_.wait(lock, [this, count] { return done_ >= count; });
  }

  std::span<std::byte> landing_;
  std::unique_ptr<transport> transport_;
  std::mutex mutex_;
  std::condition_variable came_;
  size_t done_ = 0;
  std::unique_ptr<remote_region> region_; // Goes first: it calls the handler.
};

/// The same reads by libfabric alone: one thread, fi_trywait and poll.
class raw_reader {
public:
  raw_reader(const std::string& provider, const descriptor& from, std::span<std::byte> landing)
    : landing_(landing), source_(*parse_libfabric(from)),
      domain_(*fi_domain_owner::open(provider, "127.0.0.1")), end_(*domain_->make_end(window)) {
    PS_CHECK(!domain_->wants_local_keys());
    PS_CHECK(fi_av_insert(end_.addresses.get(), source_.address.data(), 1, &peer_, 0, nullptr)
             == 1);
  }
  void read_all(uint64_t unit) {
    size_t wanted = landing_.size() / unit;
    size_t posted = 0;
    for (size_t done = 0; done < wanted;) {
      while (posted < wanted && posted - done < window && post(posted * unit, unit))
        ++posted;
      fi_cq_entry entries[window];
      auto got = fi_cq_read(end_.completions.get(), entries, window);
      PS_CHECK(got > 0 || got == -FI_EAGAIN);
      if (got > 0)
        done += static_cast<size_t>(got);
      else
        wait(posted - done < window && posted < wanted);
    }
  }

private:
  bool post(uint64_t offset, uint64_t unit) {
    auto* context = &contexts_[next_++ % std::size(contexts_)];
    auto status = fi_read(end_.endpoint.get(), &landing_[offset], unit, nullptr, peer_,
                          source_.base + offset, source_.key, context);
    PS_CHECK(status == 0 || status == -FI_EAGAIN);
    return status == 0;
  }
  void wait(bool refused) {
    fid* queue = &end_.completions->fid;
    if (fi_trywait(domain_->fabric(), &queue, 1) != 0)
      return;
    pollfd at{end_.wait_fd, POLLIN, 0};
    ::poll(&at, 1, refused ? 1 : 1000);
  }

  std::span<std::byte> landing_;
  libfabric_descriptor source_;
  std::unique_ptr<fi_domain_owner> domain_;
  fi_end end_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  fi_context2 contexts_[4 * window] = {};
  size_t next_ = 0;
};

/// memcpy from memory of this process, one thread.
class copy_reader {
public:
  explicit copy_reader(std::span<std::byte> landing)
    : landing_(landing), from_(*shared_memory::create_plain(source_bytes)) {
    fill_pattern(from_.bytes(), seed);
  }
  void read_all(uint64_t unit) {
    for (uint64_t at = 0; at < landing_.size(); at += unit)
      std::memcpy(&landing_[at], &from_.bytes()[at], unit);
  }

private:
  std::span<std::byte> landing_;
  shared_memory from_;
};

template <class Bound>
void compare(benchmark::State& state, our_reader& ours, Bound& bound,
             std::span<std::byte> landing) {
  auto unit = static_cast<uint64_t>(state.range(0));
  auto check = [&](auto& reader) {
    std::ranges::fill(landing, std::byte{0});
    reader.read_all(unit);
    return is_right(landing);
  };
  if (!check(bound) || !check(ours)) {
    state.SkipWithError("wrong bytes");
    return;
  }
  double our_s = 0;
  double bound_s = 0;
  double cpu_s = 0;
  std::vector<double> ratios;
  for (auto _ : state) {
    double t0 = seconds();
    bound.read_all(unit);
    double t1 = seconds();
    double c1 = cpu_seconds();
    ours.read_all(unit);
    double t2 = seconds();
    cpu_s += cpu_seconds() - c1;
    bound_s += t1 - t0;
    our_s += t2 - t1;
    ratios.push_back((t1 - t0) / (t2 - t1));
    state.SetIterationTime(t2 - t1);
  }
  double gb = static_cast<double>(state.iterations()) * static_cast<double>(source_bytes) * 1e-9;
  std::ranges::nth_element(ratios, ratios.begin() + static_cast<ptrdiff_t>(ratios.size() / 2));
  state.counters["ours_GBps"] = gb / our_s;
  state.counters["bound_GBps"] = gb / bound_s;
  state.counters["ratio"] = ratios[ratios.size() / 2];
  state.counters["cpu_s_per_GB"] = cpu_s / gb;
}

void tcp_beside_raw_fi_read(benchmark::State& state) {
  const std::string provider = "tcp;ofi_rxm";
  source_process source{provider, source_bytes, seed};
  std::vector<std::byte> landing(source_bytes);
  raw_reader raw{provider, source.from(), landing};
  our_reader ours{provider, source.from(), landing};
  compare(state, ours, raw, landing);
}

void mapped_beside_memcpy(benchmark::State& state) {
  source_process source{"mapped", source_bytes, seed};
  std::vector<std::byte> landing(source_bytes);
  copy_reader copy{landing};
  our_reader ours{"mapped", source.from(), landing};
  compare(state, ours, copy, landing);
}

void units(benchmark::internal::Benchmark* each) {
  each->ArgName("unit");
  for (int64_t kib : {64, 256, 1024, 4096})
    each->Arg(kib << 10);
  each->UseManualTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(tcp_beside_raw_fi_read)->Apply(units);
BENCHMARK(mapped_beside_memcpy)->Apply(units);

} // namespace
} // namespace penstock::fabric
