// Any bytes as a cluster file: a config without mistakes, or mistakes in printable text; and a plan
// for whatever was accepted.
#include "base/check.hpp"
#include "cluster/config.hpp"
#include "cluster/plan.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace penstock::cluster;
  std::string_view text{reinterpret_cast<const char*>(data), size};
  config_report report = parse_config(text, "fuzz.toml");
  PS_CHECK(report.config.has_value() == report.mistakes.empty());
  PS_CHECK(report.mistakes.size() <= mistakes_max && report.warnings.size() <= mistakes_max);
  for (const auto& list : {report.mistakes, report.warnings})
    for (const mistake& m : list) {
      std::string line = to_text(m);
      PS_CHECK(
        std::none_of(line.begin(), line.end(), [](char c) { return c < 0x20 || c == 0x7f; }));
    }
  if (!report.config)
    return 0;
  machine_facts machine{{0, 1}, uint64_t{1} << 30U, "box", {"10.0.0.1"}};
  model_facts model{"builtin", "", 512, 4, 2, 32, 4, 8 << 20U, 8 << 20U};
  plan p = make_plan(*report.config, machine, model);
  PS_CHECK(p.nodes.size() == report.config->nodes.size());
  PS_CHECK(!to_text(p).empty());
  return 0;
}
