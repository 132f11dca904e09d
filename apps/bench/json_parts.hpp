// Parts that every JSON of `penstock bench` has.
#pragma once

#include "apps/bench/percentiles.hpp"
#include "apps/bench/run_facts.hpp"
#include "base/result.hpp"
#include "schema/service.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace penstock::apps::bench {

[[nodiscard]] nlohmann::ordered_json json_of(const run_facts& run);
[[nodiscard]] nlohmann::ordered_json json_of(const schema::service_info& server);
/// @returns count, mean, p50, p90, p99 and max.
[[nodiscard]] nlohmann::ordered_json json_of(const percentiles& p);
/// @returns The object as indented text; bytes that are no UTF-8 are replaced.
[[nodiscard]] std::string text_of(const nlohmann::ordered_json& object);

/// Writes a file whole. @returns errc::io_failed with its name.
[[nodiscard]] result<void> write_text_file(const std::string& path, const std::string& text);

} // namespace penstock::apps::bench
