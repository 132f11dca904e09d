// The key of all work done for a request. No actor here: decision classes share it.
#pragma once

#include "base/clock.hpp"
#include "schema/cluster_messages.hpp"

#include <compare>

namespace penstock::actors {

/// One attempt of one request of one gateway: the key of all work done for it.
struct work_key {
  schema::node_ref gateway;
  request_id request = 0;
  uint32_t attempt = 0;
  auto operator<=>(const work_key&) const = default;
};

[[nodiscard]] inline work_key key_of(const schema::node_ref& gateway, const schema::header& h) {
  return {gateway, h.request, h.attempt};
}

/// @returns Time left at `now`, 0 if none.
[[nodiscard]] constexpr uint64_t left_us(time_us deadline, time_us now) noexcept {
  return deadline > now ? deadline - now : 0;
}

} // namespace penstock::actors
