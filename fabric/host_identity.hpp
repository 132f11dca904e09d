// Names the host a process runs on, as far as sharing memory with a neighbour goes.
//
// Two processes have equal identities if and only if they can meet at a unix socket and pass each
// other memory: same boot of the same kernel, same network namespace (abstract names live in it),
// same user. Says nothing about a machine across reboots.
#pragma once

#include "base/digest.hpp"

namespace penstock::fabric {

/// @returns The identity of this process, the same at each call; all zero if the system does not
///   say, which equals nobody (see descriptor_set).
[[nodiscard]] digest128 host_identity();

/// @returns 128 unpredictable bits from the system's generator, for keys.
[[nodiscard]] digest128 random_key();

} // namespace penstock::fabric
