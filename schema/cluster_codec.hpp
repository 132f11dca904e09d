// Bodies of messages between roles, to and from Cap'n Proto. Private to schema/.
//
// Writing trusts its input; reading trusts nothing. Both may throw kj::Exception: message.cpp
// catches.
#pragma once

#include "base/result.hpp"
#include "schema/cluster.capnp.h"
#include "schema/cluster_messages.hpp"

#include <cstddef>

namespace penstock::schema {

/// @returns Words a message with this body needs, roughly and rather too many.
[[nodiscard]] size_t words_hint(const body& b);

void write_body(const body& from, wire::Envelope::Body::Builder into);

/// @returns errc::malformed, saying which field is wrong.
[[nodiscard]] result<body> read_body(wire::Envelope::Body::Reader from);

} // namespace penstock::schema
