// The transfers of one decode node: which are open, from where, into what. Decides; posts nothing.
//
// Holds fabric::transfer objects, their scratch memory and their times. kv_mover owns the regions
// and tells this class what became of reads. No actor, no thread.
#pragma once

#include "actors/work.hpp"
#include "fabric/transfer.hpp"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::actors {

/// One transfer and what its owner must remember of it.
struct kv_flow {
  work_key key;
  schema::node_ref source;
  fabric::transfer moving;
  uint32_t scratch = 0;     ///< Index of its scratch.
  time_us began_at = 0;     ///< First read posted; 0 before.
  time_us published_at = 0; ///< Last publication taken.
  time_us dropped_at = 0;   ///< When decode gave up; 0 if it has not.
};

class kv_flows {
public:
  /// @param scratch Registered memory, cut into one piece per transfer.
  /// @param limits Of each transfer.
  kv_flows(std::span<std::byte> pool, std::span<std::byte> scratch, fabric::transfer_limits limits);

  /// @returns The new flow, or errc::overloaded if no scratch is free.
  [[nodiscard]] result<kv_flow*> open(const work_key& key, const schema::node_ref& source,
                                      const fabric::transfer_geometry& geometry,
                                      uint32_t first_index, std::vector<uint32_t> blocks);
  [[nodiscard]] kv_flow* find(const work_key& key);
  [[nodiscard]] kv_flow* find(uint32_t id);
  void close(const work_key& key);

  /// @returns Keys of the flows from `source`, in the order they were opened.
  [[nodiscard]] std::vector<work_key> of(const schema::node_ref& source) const;
  /// @returns Sources with a flow that was dropped at or before `when` and is not quiet.
  [[nodiscard]] std::vector<schema::node_ref> stuck_since(time_us when) const;

  [[nodiscard]] size_t count() const noexcept { return flows_.size(); }
  /// Transfers that can be open at once.
  [[nodiscard]] static uint32_t capacity_of(size_t scratch_bytes, uint32_t reads_max) noexcept;
  /// Scratch for `transfers` at once.
  [[nodiscard]] static size_t scratch_bytes_for(uint32_t transfers, uint32_t reads_max) noexcept;

private:
  std::span<std::byte> pool_;
  std::span<std::byte> scratch_;
  fabric::transfer_limits limits_;
  std::vector<uint32_t> free_scratch_;
  std::map<uint32_t, kv_flow> flows_; // By transfer id: order of opening.
  std::map<work_key, uint32_t> ids_;
  uint32_t next_id_ = 1;
};

} // namespace penstock::actors
