// A link over CAF's middleman: connects, reconnects, sends to the other node's router.
#pragma once

#include "actors/link.hpp"

#include <caf/actor.hpp>

#include <memory>
#include <string>

namespace penstock::actors {

/// @param host IPv4 or IPv6 address of the other node's listener.
std::unique_ptr<link> make_caf_link(std::string host, uint16_t port);

} // namespace penstock::actors
