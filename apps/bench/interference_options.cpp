#include "apps/bench/interference_options.hpp"

#include "apps/bench/random_model.hpp"
#include "cluster/config.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace penstock::apps::bench {

namespace {

constexpr double settle_s_max = 2.0;
constexpr uint32_t ratio_tokens_max = 65'536;

error wrong(const std::string& what) {
  return {errc::invalid_argument, what};
}

result<void> check_ranges(const interference_options& o) {
  if (o.rounds < 1 || o.rounds > 1000)
    return wrong("--rounds is not in 1..1000");
  if (!(o.seconds >= 0.1 && o.seconds <= 3600.0))
    return wrong("--seconds is not in 0.1..3600");
  if (o.victims < 1 || o.victims > 16)
    return wrong("--victims is not in 1..16");
  if (!(o.period_ms >= 0.0 && o.period_ms <= 3.6e6))
    return wrong("--period-ms is not in 0..3600000");
  if (o.prefill_chunk < 1 || o.prefill_chunk > 65'536)
    return wrong("--prefill-chunk is not in 1..65536");
  if (o.chunks.empty())
    return wrong("--chunks is empty");
  for (auto chunk : o.chunks)
    if (chunk < 1 || chunk > 65'536)
      return wrong("one of --chunks is not in 1..65536");
  if (o.ratios.empty() || o.ratios.size() > 16)
    return wrong("--ratios are not 1..16");
  return {};
}

} // namespace

double interference_plan::settle_s() const {
  return std::min(settle_s_max, options.seconds / 4);
}

bool interference_plan::has(arm a) const {
  return std::find(arms.begin(), arms.end(), a) != arms.end();
}

bool interference_plan::has_split_cluster() const {
  return has(arm::alone) || has(arm::null) || has(arm::split);
}

uint32_t interference_plan::long_tokens_max() const {
  uint32_t out = 0;
  for (const auto& ratio : ratios)
    out = std::max(out, ratio.prompt + ratio.output);
  return out;
}

result<token_ratio> parse_ratio(std::string_view text) {
  token_ratio out;
  auto colon = text.find(':');
  auto number = [](std::string_view digits, uint32_t& value) {
    auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return failed == std::errc{} && end == digits.data() + digits.size() && value >= 1
           && value <= ratio_tokens_max;
  };
  if (colon == std::string_view::npos || !number(text.substr(0, colon), out.prompt)
      || !number(text.substr(colon + 1), out.output))
    return wrong("--ratios: " + cluster::in_quotes(text)
                 + " is no ratio; give prompt and answer tokens from 1 to 65536, as in 512:64");
  return out;
}

result<interference_plan> understood(const interference_options& options) {
  if (auto fine = check_ranges(options); !fine)
    return fine.err();
  interference_plan out;
  out.options = options;
  auto parameters = parse_parameters(options.parameters);
  if (!parameters)
    return wrong("--parameters: " + parameters.err().detail);
  out.parameters = *parameters;
  for (const auto& text : options.ratios) {
    auto ratio = parse_ratio(text);
    if (!ratio)
      return ratio.err();
    out.ratios.push_back(*ratio);
  }
  for (const auto& name : options.arms) {
    auto found = std::find_if(std::begin(arms_all), std::end(arms_all),
                              [&name](arm a) { return name_of(a) == name; });
    if (found == std::end(arms_all))
      return wrong("--arms: " + cluster::in_quotes(name)
                   + " is none of alone, null, split, colocated");
    if (!out.has(*found))
      out.arms.push_back(*found);
  }
  if (out.arms.empty())
    return wrong("--arms is empty");
  return out;
}

} // namespace penstock::apps::bench
