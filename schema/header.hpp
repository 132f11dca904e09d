// Who says something to whom, about which attempt of which request. Every message has one.
#pragma once

#include "base/request.hpp"

#include <compare>
#include <string_view>

namespace penstock::schema {

/// Whom a message is for. Numbers are wire format.
enum class role : uint8_t {
  session = 0, ///< Found by header.request on the node that runs the gateway.
  gateway = 1,
  admission = 2,
  guardrail = 3,
  directory = 4,
  prefill = 5,
  decode = 6,
};

[[nodiscard]] std::string_view name_of(role r) noexcept;

/// One start of one node.
struct node_ref {
  node_index node = 0;
  incarnation_id incarnation = 0;
  auto operator<=>(const node_ref&) const = default;
};

struct header {
  node_ref from;
  node_ref to; ///< Incarnation 0: whichever is alive.
  role to_role = role::session;
  request_id request = 0; ///< 0 for heartbeats and batched tokens.
  uint32_t attempt = 0;   ///< Placements of a request count from 1; stale ones are ignored.
  uint64_t budget_us = 0; ///< Time left when sent.
};

} // namespace penstock::schema
