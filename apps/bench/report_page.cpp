#include "apps/bench/report.hpp"

#include <cstdio>

namespace penstock::apps::bench {

namespace {

std::string number(double value, int digits = 3) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::vector<std::string> latency_row(const char* name, const percentiles& p) {
  return {name,
          number(p.mean()),
          number(p.median()),
          number(p.at(0.9)),
          number(p.at(0.99)),
          number(p.max()),
          std::to_string(p.count())};
}

html_table rates_of(const load_report& r) {
  const auto& m = r.measured;
  html_table out{"Rates", {"", "per second", "in all"}, {}};
  out.rows.push_back({"requests", number(m.per_second(m.completed)), std::to_string(m.completed)});
  out.rows.push_back(
    {"output tokens", number(m.per_second(m.output_tokens), 1), std::to_string(m.output_tokens)});
  out.rows.push_back(
    {"prompt tokens", number(m.per_second(m.prompt_tokens), 1), std::to_string(m.prompt_tokens)});
  out.rows.push_back(
    {"of them cached", number(m.per_second(m.cached_tokens), 1), std::to_string(m.cached_tokens)});
  if (r.load.goal.any())
    out.rows.push_back({"good requests", number(m.per_second(m.good)), std::to_string(m.good)});
  for (const auto& [reason, failure] : m.failures)
    out.rows.push_back({"failed: " + reason, "", std::to_string(failure.count)});
  return out;
}

} // namespace

html_page to_page(const load_report& r, const std::deque<request_record>& records) {
  const auto& m = r.measured;
  html_page out;
  out.title = "penstock bench: " + r.server.model;
  if (auto warning = m.generator_warning(); !warning.empty())
    out.summary.push_back("Warning: " + warning + ".");
  out.tables.push_back(
    {"Latency, ms",
     {"", "mean", "p50", "p90", "p99", "max", "count"},
     {latency_row("TTFT", m.ttft_ms), latency_row("ITL", m.itl_ms), latency_row("TPOT", m.tpot_ms),
      latency_row("E2E", m.e2e_ms), latency_row("sent late", m.late_ms)}});
  out.tables.push_back(rates_of(r));
  auto all = [](const request_record&) { return true; };
  out.plots.push_back(timeline_of(records, "All requests", all, all));
  out.facts
    = {{"command", r.run.command},
       {"server", r.address + ", model " + r.server.model + ", version " + r.server.version},
       {"model digest", r.server.model_digest},
       {"build", r.run.build + ", commit " + r.run.commit},
       {"machine", r.run.cpu + ", " + std::to_string(r.run.cores) + " cores, " + r.run.system
                     + ", load average " + number(r.run.load_before, 2) + " before"},
       {"time", r.run.time}};
  return out;
}

} // namespace penstock::apps::bench
