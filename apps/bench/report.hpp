// A finished load as a table for people and as JSON for scripts.
//
// The JSON is a contract, described in docs/benchmarking.md: add to it, change nothing.
#pragma once

#include "apps/bench/figures.hpp"
#include "apps/bench/html_page.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/run_facts.hpp"
#include "schema/service.hpp"

#include <string>

namespace penstock::apps::bench {

inline constexpr const char* load_schema = "penstock-bench-load/1";

struct load_report {
  run_facts run;
  std::string address;
  schema::service_info server;
  load_options load;
  figures measured;
  bool interrupted = false; ///< By Ctrl-C: what came so far.
};

/// @returns True if every request was what was asked for.
[[nodiscard]] bool succeeded(const load_report& report);

/// @returns Several lines, at most 100 columns, each with a newline.
[[nodiscard]] std::string to_text(const load_report& report);

/// @returns The table and the tokens over time as a page that html_page.hpp makes a file of.
[[nodiscard]] html_page to_page(const load_report& report,
                                const std::deque<request_record>& records);

/// @returns One object, with a newline at its end.
[[nodiscard]] std::string to_json(const load_report& report);

} // namespace penstock::apps::bench
