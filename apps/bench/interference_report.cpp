#include "apps/bench/interference_report.hpp"

#include "apps/bench/json_parts.hpp"

#include <algorithm>
#include <cstdio>

namespace penstock::apps::bench {

namespace {

using nlohmann::ordered_json;

struct figure {
  const char* name; ///< Of the column, and in JSON.
  const char* key;
  double (*of)(const arm_run&);
  int digits;
};

constexpr figure figures_shown[] = {
  {"ITL p50 ms", "itl_ms_p50", [](const arm_run& r) { return r.itl_ms.median(); }, 2},
  {"ITL p99 ms", "itl_ms_p99", [](const arm_run& r) { return r.itl_ms.at(0.99); }, 2},
  {"ITL max ms", "itl_ms_max", [](const arm_run& r) { return r.itl_ms.max(); }, 1},
  {"long TTFT ms", "long_ttft_ms_p50", [](const arm_run& r) { return r.ttft_ms.median(); }, 0},
  {"output tokens/s", "output_tokens_per_s", [](const arm_run& r) { return r.output_per_s; }, 1},
  {"all tokens/s", "tokens_per_s", [](const arm_run& r) { return r.tokens_per_s; }, 1},
};

std::string number(double value, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string ratio_words(const token_ratio& r) {
  return std::to_string(r.prompt) + ":" + std::to_string(r.output);
}

/// "12.3 (11.8-13.1)": the median and the quartiles of the rounds.
std::string spread_words(const over_rounds& o, int digits) {
  if (!o.any())
    return "-";
  return number(o.median(), digits) + " (" + number(o.quarter(), digits) + "-"
         + number(o.three_quarters(), digits) + ")";
}

std::vector<std::string> row_of(const interference_report& r, arm which, size_t ratio,
                                const std::string& name) {
  std::vector<std::string> out{name};
  for (const auto& f : figures_shown) {
    bool of_long = f.of == figures_shown[3].of;
    out.push_back(which == arm::alone && of_long
                    ? std::string{"-"}
                    : spread_words(collect(r.result.runs, which, ratio, f.of), f.digits));
  }
  return out;
}

html_table trials_table(const interference_report& r) {
  html_table out{"Chunk budgets tried for colocated, at "
                   + ratio_words(r.plan.ratios[r.plan.ratios.size() / 2]),
                 {"chunk", "ITL p99 ms", "all tokens/s", ""},
                 {}};
  for (const auto& t : r.result.trials)
    out.rows.push_back({std::to_string(t.chunk_tokens), number(t.itl_ms_p99, 2),
                        number(t.tokens_per_s, 1),
                        t.chunk_tokens == r.result.chunk ? "chosen" : ""});
  return out;
}

/// Columns padded to their widest cell, the first to the left.
std::string text_of_table(const html_table& table) {
  std::vector<size_t> width(table.head.size(), 0);
  auto rows = table.rows;
  rows.insert(rows.begin(), table.head);
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c)
      width[c] = std::max(width[c], row[c].size());
  std::string out = table.title + "\n";
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      std::string pad(width[c] - row[c].size(), ' ');
      out.append("  ").append(c == 0 ? row[c] + pad : pad + row[c]);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

std::string setting_words(const interference_report& r) {
  const auto& o = r.plan.options;
  return std::to_string(o.rounds) + " rounds of " + number(o.seconds, 1) + " s per run after "
         + number(r.plan.settle_s(), 1) + " s to settle; " + std::to_string(o.victims)
         + " victims; a prompt of " + std::to_string(r.plan.ratios[0].prompt) + " tokens every "
         + number(r.result.period_ms, 0) + " ms, others in proportion"
         + (r.result.alone_ttft_ms > 0.0
              ? " (alone it takes " + number(r.result.alone_ttft_ms, 0) + " ms)"
              : std::string{});
}

std::vector<std::string> failure_words(const interference_report& r) {
  std::map<std::string, uint64_t> all;
  for (const auto& run : r.result.runs)
    for (const auto& [reason, count] : run.failures)
      all[name_of(run.which) + ": " + reason] += count;
  std::vector<std::string> out;
  for (const auto& [reason, count] : all)
    out.push_back(std::to_string(count) + " requests failed, " + reason);
  return out;
}

ordered_json arm_json(const interference_report& r, arm which, size_t ratio) {
  ordered_json out = ordered_json::object();
  for (const auto& f : figures_shown) {
    auto o = collect(r.result.runs, which, ratio, f.of);
    out[f.key]
      = {{"median", o.median()},  {"quartile_1", o.quarter()}, {"quartile_3", o.three_quarters()},
         {"min", o.values.min()}, {"max", o.values.max()},     {"rounds", o.values.count()}};
  }
  return out;
}

ordered_json ratio_json(const interference_report& r, size_t i) {
  const auto& ratio = r.plan.ratios[i];
  ordered_json out{{"prompt_tokens", ratio.prompt}, {"output_tokens", ratio.output}};
  for (auto which : arms_all)
    out[name_of(which)] = arm_json(r, which, i);
  auto v = judge(r.result.runs, i);
  auto if_judged = [](bool judged, auto value) { return judged ? ordered_json(value) : nullptr; };
  out["verdict"]
    = {{"split_over_null_p99", if_judged(v.undisturbed_judged, v.split_over_null)},
       {"split_over_alone_p99", if_judged(v.split_over_alone > 0.0, v.split_over_alone)},
       {"null_limit_ms", if_judged(v.undisturbed_judged, v.null_limit_ms)},
       {"split_undisturbed", if_judged(v.undisturbed_judged, v.undisturbed)},
       {"split_p99_below_colocated", if_judged(v.compared_judged, v.split_below_colocated)},
       {"colocated_has_more_tokens_per_s", if_judged(v.compared_judged, v.colocated_faster)}};
  return out;
}

ordered_json run_json(const interference_report& r, const arm_run& run) {
  ordered_json out{{"arm", name_of(run.which)}, {"round", run.round}};
  if (run.which != arm::alone)
    out["ratio"] = ratio_words(r.plan.ratios[run.ratio]);
  for (const auto& f : figures_shown)
    out[f.key] = f.of(run);
  out["itl_ms"] = json_of(run.itl_ms);
  out["long_ttft_ms"] = json_of(run.ttft_ms);
  out["late_ms_p99"] = run.late_ms_p99;
  out["failures"] = run.failures;
  return out;
}

} // namespace

std::vector<std::string> verdict_words(const interference_report& r) {
  std::vector<std::string> out;
  for (size_t i = 0; i < r.plan.ratios.size(); ++i) {
    auto v = judge(r.result.runs, i);
    auto at = ratio_words(r.plan.ratios[i]) + ": ";
    if (v.undisturbed_judged)
      out.push_back(at + "split's p99 is " + number(v.split_over_null, 3) + " times null's, and is "
                    + (v.undisturbed ? "within" : "BEYOND") + " 1.10 times null's upper quartile, "
                    + number(v.null_limit_ms, 2) + " ms");
    if (v.split_over_alone > 0.0)
      out.push_back(at + "split's p99 is " + number(v.split_over_alone, 3)
                    + " times that of victims alone, without the long prompts' answers");
    if (v.compared_judged)
      out.push_back(at + "split's p99 is " + (v.split_below_colocated ? "below" : "NOT below")
                    + " colocated's; " + (v.colocated_faster ? "colocated" : "split")
                    + " has more tokens/s");
  }
  return out;
}

std::vector<html_table> tables_of(const interference_report& r) {
  std::vector<html_table> out;
  std::vector<std::string> head{""};
  for (const auto& f : figures_shown)
    head.emplace_back(f.name);
  for (size_t i = 0; i < r.plan.ratios.size(); ++i) {
    html_table table{"Long prompts : answers = " + ratio_words(r.plan.ratios[i])
                       + " tokens; median over rounds (quartiles)",
                     head,
                     {}};
    for (auto which : arms_all)
      if (collect(r.result.runs, which, i, figures_shown[0].of).any())
        table.rows.push_back(row_of(r, which, i, name_of(which)));
    out.push_back(std::move(table));
  }
  if (!r.result.trials.empty())
    out.push_back(trials_table(r));
  return out;
}

std::string to_text(const interference_report& r) {
  std::string out = "model     " + r.result.model + "\nsetting   " + setting_words(r) + "\n"
                    + "machine   " + r.run.cpu + ", load average " + number(r.run.load_before, 2)
                    + " before\nbuild     " + r.run.build + ", commit " + r.run.commit + "\n";
  for (const auto& plan : r.result.plans)
    out += "\nplan of " + plan.arm + "\n" + plan.text;
  for (const auto& table : tables_of(r))
    out += "\n" + text_of_table(table);
  out += '\n';
  for (const auto& words : verdict_words(r))
    out += words + "\n";
  for (const auto& words : failure_words(r))
    out += words + "\n";
  if (r.result.interrupted)
    out += "interrupted: these are the figures of what came so far\n";
  return out;
}

std::string to_json(const interference_report& r) {
  const auto& o = r.plan.options;
  ordered_json out{{"schema", interference_schema}, {"run", json_of(r.run)}};
  out["model"] = r.result.model;
  out["setting"] = {{"rounds", o.rounds},
                    {"seconds", o.seconds},
                    {"settle_s", r.plan.settle_s()},
                    {"victims", o.victims},
                    {"prefill_chunk", o.prefill_chunk},
                    {"colocated_chunk", r.result.chunk},
                    {"period_ms", r.result.period_ms},
                    {"alone_ttft_ms", r.result.alone_ttft_ms},
                    {"seed", o.seed}};
  out["plans"] = ordered_json::object();
  for (const auto& plan : r.result.plans)
    out["plans"][plan.arm] = plan.text;
  out["chunk_trials"] = ordered_json::array();
  for (const auto& t : r.result.trials)
    out["chunk_trials"].push_back({{"chunk_tokens", t.chunk_tokens},
                                   {"itl_ms_p99", t.itl_ms_p99},
                                   {"tokens_per_s", t.tokens_per_s}});
  out["ratios"] = ordered_json::array();
  for (size_t i = 0; i < r.plan.ratios.size(); ++i)
    out["ratios"].push_back(ratio_json(r, i));
  out["runs"] = ordered_json::array();
  for (const auto& run : r.result.runs)
    out["runs"].push_back(run_json(r, run));
  out["interrupted"] = r.result.interrupted;
  return text_of(out);
}

html_page to_page(const interference_report& r) {
  html_page out;
  out.title = "penstock bench interference";
  out.summary = verdict_words(r);
  auto failures = failure_words(r);
  out.summary.insert(out.summary.end(), failures.begin(), failures.end());
  out.tables = tables_of(r);
  out.plots = r.result.timelines;
  out.facts = {{"command", r.run.command},
               {"model", r.result.model},
               {"setting", setting_words(r)},
               {"build", r.run.build + ", commit " + r.run.commit},
               {"machine", r.run.cpu + ", " + r.run.system + ", load average "
                             + number(r.run.load_before, 2) + " before"},
               {"time", r.run.time}};
  return out;
}

} // namespace penstock::apps::bench
