// What a cluster's plan must know about a model, from its config and the size of its files.
//
// Reads no weight: packed, they take as many bytes as the files hold, within a few percent.
#pragma once

#include "base/result.hpp"
#include "cluster/plan.hpp"

#include <string>

namespace penstock::apps {

/// @param directory A Hugging Face directory.
/// @returns As model::parse_config, or errc::io_failed.
[[nodiscard]] result<cluster::model_facts> model_facts_of(const std::string& directory);

} // namespace penstock::apps
