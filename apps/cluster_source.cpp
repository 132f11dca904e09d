#include "apps/cluster_source.hpp"

#include "actors/guardrail_rules.hpp"
#include "apps/builtin_model.hpp"
#include "apps/model_facts.hpp"
#include "cluster/default_config.hpp"
#include "cluster/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>

namespace penstock::apps {

namespace {

/// Nodes are other processes, perhaps started elsewhere: a path must not depend on the folder.
std::string absolute(const std::string& path) {
  std::error_code failed;
  auto whole = std::filesystem::absolute(path, failed);
  return failed ? path : whole.lexically_normal().string();
}

void override_model(cluster::cluster_config& config, const std::string& model) {
  config.model = model == cluster::model_builtin ? model : absolute(model);
  for (auto& node : config.nodes)
    node.model = config.model;
}

/// What only the library that runs the rules can find.
std::vector<cluster::mistake> bad_patterns(const cluster::guardrail_config& guardrail) {
  std::vector<cluster::mistake> out;
  for (const auto& rule : guardrail.rules)
    if (auto why = actors::why_not_a_pattern(rule.pattern); !why.empty())
      out.push_back({rule.file, rule.at, "rule " + cluster::in_quotes(rule.name), "pattern",
                     "does not compile: " + cluster::in_quotes(why, 200),
                     "a regular expression in RE2 syntax", ""});
  return out;
}

} // namespace

std::vector<std::string> cluster_source::as_arguments() const {
  std::vector<std::string> out;
  if (!file.empty())
    out.insert(out.end(), {"--config", absolute(file)});
  if (!model.empty())
    out.insert(out.end(), {"--model", model == cluster::model_builtin ? model : absolute(model)});
  return out;
}

std::optional<cluster::cluster_config> read_cluster(const cluster_source& from) {
  auto report = from.file.empty()
                  ? cluster::parse_config(cluster::default_cluster_toml(), "built-in default")
                  : cluster::load_config(from.file);
  std::cerr << cluster::to_text(report.mistakes);
  for (const auto& warning : report.warnings)
    std::cerr << "warning: " << cluster::to_text(warning) << '\n';
  if (report.config) {
    auto mistakes = bad_patterns(report.config->guardrail);
    std::cerr << cluster::to_text(mistakes);
    if (!mistakes.empty())
      return std::nullopt;
  }
  if (report.config && !from.model.empty())
    override_model(*report.config, from.model);
  return std::move(report.config);
}

std::optional<cluster::plan> plan_cluster(const cluster::cluster_config& config) {
  auto computes = std::find_if(config.nodes.begin(), config.nodes.end(),
                               [](const auto& node) { return node.roles.computes(); });
  const auto& model = computes != config.nodes.end() ? computes->model : config.model;
  auto directory = model_directory(model);
  auto facts = directory ? model_facts_of(*directory) : directory.err();
  if (!facts) {
    std::cerr << config.file << ": " << facts.err().text() << '\n';
    return std::nullopt;
  }
  auto plan = cluster::make_plan(config, cluster::this_machine(), *facts);
  std::cerr << cluster::to_text(plan.mistakes);
  if (!plan.mistakes.empty())
    return std::nullopt;
  return plan;
}

} // namespace penstock::apps
