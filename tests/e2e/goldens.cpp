#include "goldens.hpp"

#include "cluster.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace penstock::e2e {

std::vector<golden_case> golden_cases() {
  constexpr unsigned end_of_sequence = 2;
  std::vector<golden_case> out;
  if (tinystories().empty())
    return out;
  std::ifstream file(tinystories() + "/golden_greedy.json");
  const auto all = nlohmann::json::parse(file);
  for (const auto& from : all["cases"]) {
    golden_case c;
    auto prompt = from["prompt_ids"].get<std::vector<unsigned>>();
    auto after_each = from["ids_out"].get<std::vector<unsigned>>();
    c.prompt = from["prompt"];
    for (auto id : prompt)
      c.prompt_ids += std::to_string(id) + ",";
    c.generated.assign(after_each.begin() + static_cast<ptrdiff_t>(prompt.size()) - 1,
                       after_each.end());
    c.tokens_max = std::to_string(c.generated.size());
    c.stops = !c.generated.empty() && c.generated.back() == end_of_sequence;
    if (c.stops)
      c.generated.pop_back();
    out.push_back(std::move(c));
  }
  return out;
}

} // namespace penstock::e2e
