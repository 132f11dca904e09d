#include "cluster/config.hpp"

#include "cluster/config_checks.hpp"
#include "cluster/config_sections.hpp"
#include "cluster/key_depth.hpp"
#include "cluster/table_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace penstock::cluster {
namespace {

/// Adds one mistake about the file as a whole, or about one place in it.
void complain(findings& out, position at, std::string found, std::string hint = {}) {
  out.add({out.file, at, {}, {}, std::move(found), {}, std::move(hint)});
}

/// @returns The parsed tables; absent if the text is no TOML, which is reported.
std::optional<toml::table> parse_toml(std::string_view text, findings& out) {
  if (text.size() > config_bytes_max) {
    complain(out, {}, "is larger than 1 MiB", "this is not a cluster file");
    return {};
  }
  if (position deep = find_deep_key(text); deep.line > 0) {
    complain(out, deep, "a key has too many dots", "write tables: [fabric]");
    return {};
  }
  auto parsed = toml::parse(text);
  if (!parsed) {
    const toml::parse_error& e = parsed.error();
    complain(out, position_of(e.source()), "is not valid TOML: " + in_quotes(e.description(), 200),
             "the rest of the file was not checked");
    return {};
  }
  return std::move(parsed).table();
}

void sort_by_position(std::vector<mistake>& list) {
  std::stable_sort(list.begin(), list.end(), [](const mistake& a, const mistake& b) {
    return std::pair{a.at.line, a.at.column} < std::pair{b.at.line, b.at.column};
  });
}

config_report report_of(std::optional<cluster_config> config, findings found) {
  sort_by_position(found.mistakes);
  sort_by_position(found.warnings);
  config_report out;
  if (found.mistakes.empty())
    out.config = std::move(config);
  out.mistakes = std::move(found.mistakes);
  out.warnings = std::move(found.warnings);
  return out;
}

/// @returns The file's bytes; absent if it cannot be read, which is reported.
std::optional<std::string> read_file(const std::string& path, findings& out) {
  std::error_code failed;
  auto status = std::filesystem::status(path, failed);
  if (failed && status.type() != std::filesystem::file_type::not_found) {
    complain(out, {}, "cannot be read: " + failed.message());
    return {};
  }
  if (status.type() == std::filesystem::file_type::not_found) {
    complain(out, {}, "does not exist", "`penstock check --default` prints a file to start from");
    return {};
  }
  if (status.type() != std::filesystem::file_type::regular) {
    complain(out, {}, "is not a regular file", "name the cluster file itself");
    return {};
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    complain(out, {}, std::string{"cannot be opened: "} + std::strerror(errno));
    return {};
  }
  std::string text(config_bytes_max + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad()) {
    complain(out, {}, std::string{"cannot be read: "} + std::strerror(errno));
    return {};
  }
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

/// Reads the rules file that `config` names, if any, into `config.guardrail.rules`.
void load_rules(cluster_config& config, findings& out) {
  if (config.guardrail.rules_path.empty())
    return;
  std::filesystem::path path = config.guardrail.rules_path;
  if (path.is_relative())
    path = std::filesystem::path{config.file}.parent_path() / path;
  findings own{path.string(), {}, {}};
  if (auto text = read_file(own.file, own))
    if (auto root = parse_toml(*text, own))
      read_rules_file(*root, config.guardrail.rules, own);
  for (mistake& m : own.mistakes)
    out.add(std::move(m));
}

} // namespace

size_t cluster_config::find(std::string_view node_name) const noexcept {
  auto found = std::find_if(nodes.begin(), nodes.end(),
                            [node_name](const node_config& n) { return n.name == node_name; });
  return static_cast<size_t>(found - nodes.begin());
}

config_report parse_config(std::string_view text, std::string_view file) {
  findings found{std::string{file}, {}, {}};
  cluster_config config;
  config.file = file;
  if (auto root = parse_toml(text, found)) {
    read_sections(*root, config, found);
    check_config(config, found);
  }
  return report_of(std::move(config), std::move(found));
}

config_report load_config(const std::string& path) {
  findings found{path, {}, {}};
  auto text = read_file(path, found);
  if (!text)
    return report_of({}, std::move(found));
  config_report report = parse_config(*text, path);
  if (!report.config)
    return report;
  load_rules(*report.config, found);
  found.warnings = std::move(report.warnings);
  return report_of(std::move(report.config), std::move(found));
}

} // namespace penstock::cluster
