#include "actors/kv_flow.hpp"

#include "base/check.hpp"

namespace penstock::actors {

size_t kv_flows::scratch_bytes_for(uint32_t transfers, uint32_t reads_max) noexcept {
  return size_t{transfers} * reads_max * fabric::scratch_slot_bytes;
}

uint32_t kv_flows::capacity_of(size_t scratch_bytes, uint32_t reads_max) noexcept {
  return static_cast<uint32_t>(scratch_bytes / scratch_bytes_for(1, reads_max));
}

kv_flows::kv_flows(std::span<std::byte> pool, std::span<std::byte> scratch,
                   fabric::transfer_limits limits)
  : pool_(pool), scratch_(scratch), limits_(limits) {
  for (auto n = capacity_of(scratch.size(), limits_.reads_in_flight_max); n > 0; --n)
    free_scratch_.push_back(n - 1);
  PS_CHECK(!free_scratch_.empty());
}

result<kv_flow*> kv_flows::open(const work_key& key, const schema::node_ref& source,
                                const fabric::transfer_geometry& geometry, uint32_t first_index,
                                std::vector<uint32_t> blocks) {
  PS_CHECK(!ids_.contains(key));
  if (free_scratch_.empty())
    return error{errc::overloaded, "too many KV transfers at once"};
  auto index = free_scratch_.back();
  free_scratch_.pop_back();
  auto bytes = scratch_bytes_for(1, limits_.reads_in_flight_max);
  fabric::transfer_destination to{pool_, scratch_.subspan(index * bytes, bytes)};
  auto id = next_id_++;
  auto [at, fresh] = flows_.emplace(
    id, kv_flow{key, source,
                fabric::transfer{id, geometry, limits_, to, first_index, std::move(blocks)}, index,
                0, 0, 0});
  PS_CHECK(fresh);
  ids_.emplace(key, id);
  return &at->second;
}

kv_flow* kv_flows::find(const work_key& key) {
  auto at = ids_.find(key);
  return at == ids_.end() ? nullptr : find(at->second);
}

kv_flow* kv_flows::find(uint32_t id) {
  auto at = flows_.find(id);
  return at == flows_.end() ? nullptr : &at->second;
}

void kv_flows::close(const work_key& key) {
  auto at = ids_.find(key);
  PS_CHECK(at != ids_.end());
  auto flow = flows_.find(at->second);
  PS_CHECK(flow->second.moving.settle().state == fabric::settlement::kind::quiesced);
  free_scratch_.push_back(flow->second.scratch);
  flows_.erase(flow);
  ids_.erase(at);
}

std::vector<work_key> kv_flows::of(const schema::node_ref& source) const {
  std::vector<work_key> keys;
  for (const auto& [id, flow] : flows_)
    if (flow.source == source)
      keys.push_back(flow.key);
  return keys;
}

std::vector<schema::node_ref> kv_flows::stuck_since(time_us when) const {
  std::vector<schema::node_ref> sources;
  for (const auto& [id, flow] : flows_)
    if (flow.dropped_at > 0 && flow.dropped_at <= when)
      sources.push_back(flow.source);
  return sources;
}

} // namespace penstock::actors
