#include "actors/guardrail_rules.hpp"

#include <re2/re2.h>

namespace penstock::actors {

namespace {

/// Memory for one compiled pattern and its automaton's cache.
constexpr int64_t pattern_bytes_max = int64_t{8} << 20;

std::unique_ptr<re2::RE2> compiled_pattern(const std::string& pattern) {
  re2::RE2::Options syntax;
  syntax.set_log_errors(false);
  syntax.set_max_mem(pattern_bytes_max);
  return std::make_unique<re2::RE2>(pattern, syntax);
}

} // namespace

std::string why_not_a_pattern(const std::string& pattern) {
  auto compiled = compiled_pattern(pattern);
  return compiled->ok() ? std::string{} : compiled->error();
}

guardrail_rules::guardrail_rules(options how, const clock& time) : how_(how), time_(&time) {
  PS_CHECK(how_.budget_us > 0);
}
guardrail_rules::guardrail_rules(guardrail_rules&&) noexcept = default;
guardrail_rules& guardrail_rules::operator=(guardrail_rules&&) noexcept = default;
guardrail_rules::~guardrail_rules() = default;

result<guardrail_rules> guardrail_rules::compile(const std::vector<guardrail_rule>& rules,
                                                 options how, const clock& time) {
  guardrail_rules out{how, time};
  for (const auto& rule : rules) {
    auto pattern = compiled_pattern(rule.pattern);
    if (!pattern->ok())
      return error{errc::invalid_argument,
                   "guardrail rule \"" + rule.name + "\": pattern: " + pattern->error()};
    out.rules_.push_back({rule.name, std::move(pattern)});
  }
  return out;
}

schema::verdict guardrail_rules::judge(std::string_view text) const {
  auto start = time_->now();
  schema::verdict v;
  for (const auto& rule : rules_) {
    if (time_->now() - start > how_.budget_us) {
      v.timed_out = true;
      v.allowed = how_.allow_on_timeout;
      v.rule = v.allowed ? "" : "time budget";
      break;
    }
    if (re2::RE2::PartialMatch({text.data(), text.size()}, *rule.pattern)) {
      v.allowed = false;
      v.rule = rule.name;
      break;
    }
  }
  v.took_us = time_->now() - start;
  return v;
}

} // namespace penstock::actors
