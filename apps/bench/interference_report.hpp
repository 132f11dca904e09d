// A finished interference benchmark as tables, JSON and a page.
//
// The JSON is a contract, described in docs/benchmarking.md: add to it, change nothing.
#pragma once

#include "apps/bench/html_page.hpp"
#include "apps/bench/interference_run.hpp"
#include "apps/bench/run_facts.hpp"

#include <string>

namespace penstock::apps::bench {

inline constexpr const char* interference_schema = "penstock-bench-interference/1";

struct interference_report {
  run_facts run;
  interference_plan plan;
  interference_result result;
};

/// @returns Each ratio's verdict as a sentence.
[[nodiscard]] std::vector<std::string> verdict_words(const interference_report& report);

/// @returns Tables: a row per arm and ratio, medians over the rounds with their quartiles.
[[nodiscard]] std::vector<html_table> tables_of(const interference_report& report);

[[nodiscard]] std::string to_text(const interference_report& report);
[[nodiscard]] std::string to_json(const interference_report& report);
[[nodiscard]] html_page to_page(const interference_report& report);

} // namespace penstock::apps::bench
