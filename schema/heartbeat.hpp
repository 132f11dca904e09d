// What every node tells every other, all the time: identity, compatibility, load.
#pragma once

#include "schema/header.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::schema {

/// Of cluster.capnp, to be raised with every change that another node must not overlook: it would
/// read the message without the new field. A part of heartbeat::version.
inline constexpr uint32_t wire_version = 2;

/// Every node → every node, all the time: who I am and how I am.
struct heartbeat {
  std::string node;         ///< Configured name.
  std::string version;      ///< Release of the binary, and its wire_version.
  std::vector<role> roles;  ///< Of gateway, prefill, decode.
  bool ready = false;       ///< Takes new work.
  std::string model_digest; ///< Hex.
  std::string numerics_id;
  std::vector<std::byte> kv_geometry; ///< Opaque here; equal between partners that can exchange KV.
  std::vector<std::byte> kv_source;   ///< Prefill: how to reach its pool (fabric::descriptor_set).
  uint32_t kv_source_blocks = 0;      ///< Prefill: blocks of its pool.
  uint32_t queued_tokens = 0;         ///< Prefill: prompt tokens not yet computed.
  uint32_t running_rows = 0;          ///< Decode.
  uint32_t blocks_free = 0;           ///< Not reserved.
  uint32_t blocks_capacity = 0;
  uint64_t sequence = 0; ///< Ascending within an incarnation.
};

} // namespace penstock::schema
