// Reads each section of the cluster file, key by key. Private to this folder's .cpp files.
#pragma once

#include "cluster/config.hpp"
#include "cluster/table_reader.hpp"

namespace penstock::cluster {

/// Fills `config` from `root`; whatever is wrong with single keys goes to `out`.
void read_sections(const toml::table& root, cluster_config& config, findings& out);

/// Reads a rules file: [[rule]] tables, as under [[guardrail.rule]].
void read_rules_file(const toml::table& root, std::vector<guardrail_rule>& rules, findings& out);

} // namespace penstock::cluster
