// What must hold between nodes of one cluster file. Private to this folder's .cpp files.
#pragma once

#include "cluster/config.hpp"
#include "cluster/table_reader.hpp"

namespace penstock::cluster {

/// Adds to `out` every contradiction between the nodes of `config`, and between nodes and fabric.
void check_config(const cluster_config& config, findings& out);

} // namespace penstock::cluster
