// The cluster file `penstock check --default` prints and `penstock up` uses when none is given.
#pragma once

#include <string_view>

namespace penstock::cluster {

/// @returns TOML for three nodes on loopback and the built-in model, with comments for a reader.
[[nodiscard]] std::string_view default_cluster_toml() noexcept;

} // namespace penstock::cluster
