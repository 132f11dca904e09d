#include "ops/probes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace penstock::ops {
namespace {

using ::testing::HasSubstr;

node_identity everything() {
  return {"n0", "gateway+prefill+decode", "0.1.0", "abc", 5, 2};
}

std::set<std::string> families(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines{text};
  for (std::string hash, type, name, rest; lines >> hash;) {
    if (hash == "#" && lines >> type >> name && type == "TYPE")
      out.insert(name);
    std::getline(lines, rest);
  }
  return out;
}

std::string all_text() {
  metrics m;
  probes p{m, everything()};
  (void)p.transfer("mapped");
  return m.text();
}

std::string source(const std::string& path) {
  std::ifstream in(std::string{PENSTOCK_SOURCE_DIR} + "/" + path);
  EXPECT_TRUE(in) << path;
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

/// Metric families that a text names, without the suffixes of a histogram's series.
std::set<std::string> named_in(const std::string& text) {
  std::set<std::string> out;
  std::regex name{"penstock_[a-z0-9_]+"};
  for (std::sregex_iterator i{text.begin(), text.end(), name}, end; i != end; ++i)
    out.insert(std::regex_replace(i->str(), std::regex{"_(bucket|count|sum)$"}, ""));
  return out;
}

bool have_promtool() {
  return std::system("command -v promtool >/dev/null 2>&1") == 0;
}

TEST(probes, an_ending_counts_reason_times_and_tokens_once) {
  metrics m;
  probes p{m, everything()};
  p.session.accepted();
  p.session.accepted();
  generate_outcome o;
  o.reason = finish_reason::length;
  o.usage = {10, 3, 4, 6, 9, 1};
  o.timings.ttft_us = 2000;
  o.timings.total_us = 30'000;
  o.placement.attempts = 2;
  p.session.ended(o);
  std::string text = m.text();
  EXPECT_THAT(text, HasSubstr("penstock_request_accepted_total 2"));
  EXPECT_THAT(text, HasSubstr("penstock_request_open_requests 1"));
  EXPECT_THAT(text, HasSubstr("penstock_request_ended_total{reason=\"length\"} 1"));
  EXPECT_THAT(text, HasSubstr("penstock_request_prompt_tokens_total{origin=\"cached\"} 4"));
  EXPECT_THAT(text, HasSubstr("penstock_request_prompt_tokens_total{origin=\"computed\"} 6"));
  EXPECT_THAT(text, HasSubstr("penstock_request_completion_tokens_total 3"));
  EXPECT_THAT(text, HasSubstr("penstock_request_attempts_total 2"));
  EXPECT_THAT(text, HasSubstr("time_to_first_token_seconds_bucket{le=\"0.001\"} 0"));
  EXPECT_THAT(text, HasSubstr("time_to_first_token_seconds_bucket{le=\"0.0025\"} 1"));
  EXPECT_THAT(text, HasSubstr("stage_time_seconds_count{stage=\"transfer\"} 0"));
}

TEST(probes, every_code_is_counted_known_or_not) {
  metrics m;
  probes p{m, everything()};
  for (unsigned code = 1; code < 256; ++code) {
    p.session.refused(static_cast<errc>(code));
    p.admission.refused(static_cast<errc>(code));
  }
  std::string text = m.text();
  EXPECT_THAT(text, HasSubstr("penstock_request_refused_total{reason=\"overloaded\"} 1"));
  EXPECT_THAT(text, HasSubstr("penstock_request_refused_total{reason=\"other\"} 248"));
  EXPECT_THAT(text, HasSubstr("penstock_admission_refused_total{reason=\"other\"} 250"));
}

TEST(probes, roles_count_their_steps_blocks_and_transfers) {
  metrics m;
  probes p{m, everything()};
  p.guardrail.judged(verdict_outcome::block, 12);
  p.prefill.queued(77);
  p.prefill.stepped(64, 900);
  p.decode.running(3);
  p.decode.stepped(3, 800, 500'000);
  p.decode.discarded(2);
  p.decode_pool.blocks(1, 2, 3, 4);
  transfer_probe t = p.transfer("tcp;ofi_rxm");
  t.ended(transfer_result::done, 1 << 20, 700);
  t.ended(transfer_result::stale, 10, 700);
  t.retried(errc::stale_data);
  p.node.peers_alive(2);
  p.node.heartbeats_missed(5);
  std::string text = m.text();
  EXPECT_THAT(text, HasSubstr("penstock_guardrail_verdicts_total{outcome=\"block\"} 1"));
  EXPECT_THAT(text, HasSubstr("penstock_prefill_computed_tokens_total 64"));
  EXPECT_THAT(text, HasSubstr("penstock_decode_idle_seconds_total 0.5"));
  EXPECT_THAT(text, HasSubstr("penstock_kv_pool_blocks{role=\"decode\",state=\"cached\"} 3"));
  EXPECT_THAT(text, HasSubstr("outcome=\"stale\",transport=\"tcp;ofi_rxm\"} 1"));
  EXPECT_THAT(text,
              HasSubstr("penstock_kv_transfer_bytes_total{transport=\"tcp;ofi_rxm\"} 1048586"));
  EXPECT_THAT(text, HasSubstr("transfer_size_bytes_count{transport=\"tcp;ofi_rxm\"} 1"));
  EXPECT_THAT(text, HasSubstr("penstock_node_restarts_total 2"));
  EXPECT_THAT(text, HasSubstr("penstock_node_missed_heartbeats_total 5"));
}

TEST(probes, waits_and_discards_are_told_apart_by_reason) {
  metrics m;
  probes p{m, everything()};
  p.session.held(hold_reason::utf8, 500'000);
  p.session.held(hold_reason::stop_string, 250'000);
  p.session.held(hold_reason::stop_string, 250'000);
  p.session.discarded(discard_reason::stop_string, 3);
  p.session.discarded(discard_reason::late, 1);
  std::string text = m.text();
  EXPECT_THAT(text, HasSubstr("penstock_request_held_seconds_count{reason=\"utf8\"} 1"));
  EXPECT_THAT(text, HasSubstr("penstock_request_held_seconds_sum{reason=\"utf8\"} 0.5"));
  EXPECT_THAT(text, HasSubstr("penstock_request_held_seconds_count{reason=\"stop_string\"} 2"));
  EXPECT_THAT(text, HasSubstr("penstock_request_discarded_tokens_total{reason=\"stop_string\"} 3"));
  EXPECT_THAT(text, HasSubstr("penstock_request_discarded_tokens_total{reason=\"late\"} 1"));
}

TEST(probes, a_pool_that_does_not_exist_shows_no_blocks) {
  metrics m;
  probes p{m, {"d0", "decode", "0.1.0", "", 0, 0}};
  p.prefill_pool.blocks(1, 1, 1, 1);
  EXPECT_EQ(m.text().find("role=\"prefill\",state"), std::string::npos);
  EXPECT_THAT(m.text(), HasSubstr("role=\"decode\",state"));
}

TEST(probes, a_cache_reports_totals_and_they_are_counted_once) {
  metrics m;
  probes p{m, everything()};
  p.decode_pool.cache({160, 32, 9, 7, 2, 1, 5000, 8000});
  p.decode_pool.cache({160, 32, 9, 7, 2, 1, 5000, 8000});
  p.decode_pool.cache({176, 48, 10, 8, 3, 2, 4000, 8000});
  std::string text = m.text();
  for (const char* line : {"prefix_hit_tokens_total{role=\"decode\",tier=\"pool\"} 176",
                           "prefix_hit_tokens_total{role=\"decode\",tier=\"host\"} 48",
                           "prefix_hit_tokens_total{role=\"prefill\",tier=\"pool\"} 0",
                           "penstock_kv_evicted_blocks_total{role=\"decode\"} 10",
                           "host_blocks_total{event=\"saved\",role=\"decode\"} 8",
                           "host_blocks_total{event=\"loaded\",role=\"decode\"} 3",
                           "host_blocks_total{event=\"evicted\",role=\"decode\"} 2",
                           "host_bytes{kind=\"used\",role=\"decode\"} 4000",
                           "host_bytes{kind=\"limit\",role=\"decode\"} 8000"})
    EXPECT_THAT(text, HasSubstr(line));
}

TEST(probes, default_made_probes_take_every_event) {
  probes p;
  p.session.accepted();
  p.session.refused(errc::overloaded);
  p.session.token_gap(5);
  p.session.ended({});
  p.admission.admitted();
  p.admission.load(1, 2);
  p.guardrail.judged(verdict_outcome::timeout, 1);
  p.prefill.stepped(1, 1);
  p.decode.stepped(1, 1, 1);
  p.decode_pool.blocks(1, 2, 3, 4);
  p.decode_pool.cache({1, 2, 3, 4, 5, 6, 7, 8});
  p.transfer("mapped").ended(transfer_result::done, 1, 1);
  p.node.peers_alive(1);
  EXPECT_EQ(p.session.accepted_.value(), 0);
}

TEST(probes, restarts_come_from_a_number_or_are_zero) {
  EXPECT_EQ(restarts_from("17"), 17U);
  for (const char* bad : {"", "x", "-1", "3x", "99999999999999999999999"})
    EXPECT_EQ(restarts_from(bad), 0U) << bad;
  EXPECT_EQ(restarts_from(nullptr), 0U);
}

TEST(probes, names_begin_with_penstock_and_every_counter_ends_in_total) {
  std::string text = all_text();
  EXPECT_GE(families(text).size(), 40U);
  std::regex shape{"penstock_(request|admission|guardrail|prefill|decode|kv|node)_[a-z_]+"};
  for (const std::string& name : families(text)) {
    EXPECT_TRUE(std::regex_match(name, shape)) << name;
    bool is_counter = text.find("# TYPE " + name + " counter") != std::string::npos;
    EXPECT_EQ(is_counter, name.ends_with("_total")) << name;
  }
}

TEST(probes, promtool_finds_nothing_to_say_about_the_metrics) {
  if (!have_promtool())
    GTEST_SKIP() << "promtool is missing: apt-get install prometheus";
  auto path = std::filesystem::path{::testing::TempDir()} / "penstock_metrics.txt";
  std::ofstream{path} << all_text();
  std::string command = "promtool check metrics < '" + path.string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove(path);
}

TEST(probes, promtool_accepts_the_alert_rules) {
  if (!have_promtool())
    GTEST_SKIP() << "promtool is missing: apt-get install prometheus";
  std::string command
    = std::string{"promtool check rules '"} + PENSTOCK_SOURCE_DIR + "/ops/alerts.yml' >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(probes, dashboard_and_alerts_name_only_metrics_that_exist) {
  std::set<std::string> known = families(all_text());
  for (const char* path : {"ops/dashboard.json", "ops/alerts.yml"}) {
    std::set<std::string> used = named_in(source(path));
    EXPECT_FALSE(used.empty()) << path;
    for (const std::string& name : used)
      EXPECT_TRUE(known.count(name) > 0) << path << ": " << name;
  }
}

TEST(probes, dashboard_and_runbook_leave_no_metric_out) {
  std::set<std::string> shown = named_in(source("ops/dashboard.json"));
  std::set<std::string> explained = named_in(source("ops/runbook.md"));
  for (const std::string& name : families(all_text())) {
    EXPECT_TRUE(shown.count(name) > 0) << "no panel for " << name;
    EXPECT_TRUE(explained.count(name) > 0) << "no row for " << name;
  }
}

TEST(probes, runbook_has_a_row_for_every_alert) {
  std::string rules = source("ops/alerts.yml");
  std::string runbook = source("ops/runbook.md");
  std::regex alert{"alert: ([A-Za-z]+)"};
  size_t count = 0;
  for (std::sregex_iterator i{rules.begin(), rules.end(), alert}, end; i != end; ++i, ++count)
    EXPECT_THAT(runbook, HasSubstr("| " + (*i)[1].str() + " |"));
  EXPECT_GT(count, 5U);
}

TEST(probes, all_metric_names_are_in_one_source) {
  std::set<std::string> in_source = named_in(source("ops/probes.cpp"));
  for (const std::string& name : families(all_text()))
    EXPECT_TRUE(in_source.count(name) > 0) << name;
}

} // namespace
} // namespace penstock::ops
