// The transport within one process: deterministic, no threads, faults on request.
//
// Posted reads wait in a local_fabric until a test or the simulation delivers them, in any order,
// well or badly. Bytes are taken from the source at delivery, so a source block that is reused in
// between shows. Handlers are called inside deliver_one() and pump(). One thread; the local_fabric
// outlives everything made from it.
#pragma once

#include "base/rng.hpp"
#include "fabric/transport.hpp"

#include <map>

namespace penstock::fabric {

/// How a read ends, when delivered.
struct delivery {
  enum class kind : uint8_t {
    good,
    failed,    ///< `code`, nothing written.
    partial,   ///< `code`, after the first half has been written.
    truncated, ///< Says ok, but only the first half has been written.
    flipped,   ///< Says ok, but one bit of the middle byte is wrong.
    lost,      ///< Never completes: in flight until its region is closed.
  };
  kind how = kind::good;
  errc code = errc::transfer_failed;
};

class local_region;

class local_fabric {
public:
  /// Reads posted and not delivered; lost ones are not counted.
  [[nodiscard]] size_t pending_count() const noexcept { return pending_.size(); }
  /// Reads delivered as lost whose region is still open.
  [[nodiscard]] size_t lost_count() const noexcept { return lost_.size(); }

  /// Ends one read. @param index In [0, pending_count()), in the order of posting.
  void deliver_one(size_t index, delivery how = {});
  /// Delivers well everything that is pending, in an order drawn from `order`, and what handlers
  /// post meanwhile. @returns Reads delivered.
  size_t pump(rng& order);

  /// The source's process dies: reads pending and posted later end with errc::peer_lost.
  void kill(std::span<const std::byte> source);

private:
  friend class local_region;
  friend class local_transport;

  struct source {
    std::span<std::byte> memory;
    bool alive = true;
  };
  struct posted {
    local_region* region = nullptr;
    uint64_t source = 0;
    uint64_t offset = 0;
    uint64_t cookie = 0;
    std::span<std::byte> into;
  };

  void forget(const local_region* region);

  std::map<uint64_t, source> sources_;
  std::vector<posted> pending_;
  std::vector<posted> lost_;
  uint64_t next_source_ = 1;
};

class local_transport final : public transport {
public:
  /// @param on Outlives the transport and its regions.
  /// @param reads_in_flight_max Window of each region, > 0.
  explicit local_transport(local_fabric& on, size_t reads_in_flight_max = 64);
  ~local_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "local"; }
  [[nodiscard]] result<descriptor> serve(std::span<std::byte> memory) override;
  [[nodiscard]] result<std::unique_ptr<remote_region>> open(std::span<const std::byte> from,
                                                            done_handler on_done) override;
  /// Kept, and checked at each read: what the in-process kind does not need, another kind does.
  [[nodiscard]] result<void> register_destination(std::span<std::byte> memory) override;

private:
  local_fabric* fabric_;
  size_t reads_in_flight_max_;
  uint64_t source_ = 0; // 0: serves nothing.
  // Shared with the regions, which may outlive the transport in a test's teardown.
  std::shared_ptr<std::vector<std::span<std::byte>>> destinations_;
};

} // namespace penstock::fabric
