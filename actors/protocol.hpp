// Every type that one actor may send another, in one place.
//
// Between roles there is one: schema::message (its bodies are in schema/cluster_messages.hpp). The
// rest are moved structs inside one role: a scheduler and its device, decode and its mover, the
// gateway and its sessions. They never leave the process.
#pragma once

#include "actors/work.hpp"
#include "base/clock.hpp"
#include "fabric/transport.hpp"
#include "gpu/device.hpp"
#include "schema/cluster_messages.hpp"
#include "schema/message.hpp"
#include "schema/service.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/deserializer.hpp>
#include <caf/detail/stringification_inspector.hpp>
#include <caf/error.hpp>
#include <caf/meta/type_name.hpp>
#include <caf/sec.hpp>
#include <caf/serializer.hpp>
#include <caf/type_id.hpp>

#include <compare>
#include <memory>
#include <vector>

namespace penstock::schema {

// How CAF's middleman writes and reads a message: size in bytes, then the words as they are.
inline caf::error inspect(caf::serializer& sink, message& x) {
  auto bytes = x.bytes();
  auto size = static_cast<uint32_t>(bytes.size());
  if (auto e = sink.apply(size))
    return e;
  return size == 0 ? caf::error{} : sink.apply_raw(size, const_cast<std::byte*>(bytes.data()));
}

inline caf::error inspect(caf::deserializer& source, message& x) {
  uint32_t size = 0;
  if (auto e = source.apply(size))
    return e;
  if (size > limits::message_bytes_max)
    return caf::sec::invalid_argument;
  std::vector<std::byte> bytes(size);
  if (size > 0)
    if (auto e = source.apply_raw(size, bytes.data()))
      return e;
  auto parsed = message::from_bytes(bytes);
  if (!parsed)
    return caf::sec::invalid_argument;
  x = std::move(*parsed);
  return caf::none;
}

inline void inspect(caf::detail::stringification_inspector& f, message& x) {
  f(caf::meta::type_name("message"), static_cast<uint64_t>(x.size_bytes()));
}

} // namespace penstock::schema

namespace penstock::actors {

// --- a scheduler and its device -----------------------------------------------------------------

using step_ptr = std::shared_ptr<gpu::step>; // Shared only because CAF copies message elements.

// --- gateway and its sessions -------------------------------------------------------------------

struct new_request {
  request_id request = 0;
  generate_request what;
  std::shared_ptr<schema::token_sink> sink; // Shared: the edge keeps it until the client is gone.
  time_us accepted_at = 0;
};

/// session → gateway: it has ended; forget the id.
struct session_over {
  request_id request = 0;
};

/// edge → gateway → session: the client wants an early end.
struct client_gone {
  request_id request = 0;
};

} // namespace penstock::actors

CAF_BEGIN_TYPE_ID_BLOCK(penstock, caf::first_custom_type_id)
  CAF_ADD_ATOM(penstock, penstock::actors, tick_atom, "tick")
  CAF_ADD_ATOM(penstock, penstock::actors, wake_atom, "wake")
CAF_END_TYPE_ID_BLOCK(penstock)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::step_ptr)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::gpu::step_output)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::new_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::session_over)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(penstock::actors::client_gone)
