#include "apps/bench/trace_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>

namespace penstock::apps::bench {

namespace {

using nlohmann::json;

constexpr uint64_t tokens_max = uint64_t{1} << 24U; // Of one prompt or answer.
constexpr uint64_t trace_us_max = uint64_t{366} * 86'400 * 1'000'000;

std::optional<uint64_t> number_in(std::string_view text, uint64_t max) {
  uint64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value > max)
    return std::nullopt;
  return value;
}

std::optional<uint64_t> number_at(const json& object, const char* key, uint64_t max) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() || found->get<int64_t>() < 0
      || found->get<uint64_t>() > max)
    return std::nullopt;
  return found->get<uint64_t>();
}

std::optional<trace_entry> entry_of_json(std::string_view line) {
  auto object = json::parse(line, nullptr, false);
  if (!object.is_object())
    return std::nullopt;
  auto at = number_at(object, "timestamp", trace_us_max / 1000);
  auto prompt = number_at(object, "input_length", tokens_max);
  auto output = number_at(object, "output_length", tokens_max);
  if (!at || !prompt || !output)
    return std::nullopt;
  trace_entry out{*at * 1000, static_cast<uint32_t>(*prompt), static_cast<uint32_t>(*output), {}};
  if (auto blocks = object.find("hash_ids"); blocks != object.end()) {
    if (!blocks->is_array())
      return std::nullopt;
    for (const auto& block : *blocks) {
      if (!block.is_number_integer())
        return std::nullopt;
      out.blocks.push_back(block.get<uint64_t>());
    }
  }
  return out;
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (years count from March).
int64_t days_of(int year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  int64_t era = year / 400;
  int64_t of_era = year - era * 400;
  int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

/// "2023-11-16 18:15:46.6805900" in microseconds; the zone does not matter.
std::optional<uint64_t> moment_of(const std::string& text) {
  int year = 0;
  int month = 0;
  int day = 0;
  int hour = 0;
  int minute = 0;
  double second = 0.0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2d %2d:%2d:%lf", &year, &month, &day, &hour, &minute,
                  &second)
        != 6
      || year < 1970 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0
      || hour > 23 || minute < 0 || minute > 59 || !(second >= 0.0 && second < 61.0))
    return std::nullopt;
  auto minutes = (days_of(year, month, day) * 24 + hour) * 60 + minute;
  return static_cast<uint64_t>(minutes) * 60'000'000 + static_cast<uint64_t>(second * 1e6);
}

std::optional<trace_entry> entry_of_csv(std::string_view line) {
  auto second = line.rfind(',');
  auto first = second == std::string_view::npos || second == 0 ? std::string_view::npos
                                                               : line.rfind(',', second - 1);
  if (first == std::string_view::npos)
    return std::nullopt;
  auto at = moment_of(std::string{line.substr(0, first)});
  auto prompt = number_in(line.substr(first + 1, second - first - 1), tokens_max);
  auto output = number_in(line.substr(second + 1), tokens_max);
  if (!at || !prompt || !output)
    return std::nullopt;
  return trace_entry{*at, static_cast<uint32_t>(*prompt), static_cast<uint32_t>(*output), {}};
}

} // namespace

result<std::vector<trace_entry>> parse_trace(std::string_view text, const std::string& name) {
  constexpr std::string_view csv_header = "TIMESTAMP,ContextTokens,GeneratedTokens";
  bool csv = text.substr(0, csv_header.size()) == csv_header;
  std::vector<trace_entry> out;
  for (size_t number = 1; !text.empty(); ++number) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (line.empty() || (csv && number == 1))
      continue;
    auto entry = csv ? entry_of_csv(line) : entry_of_json(line);
    if (!entry)
      return error{errc::malformed,
                   name + ":" + std::to_string(number)
                     + ": is no request; a line is {\"timestamp\": ms, \"input_length\": n, "
                       "\"output_length\": n}, or below the header "
                     + std::string{csv_header} + " a date, a count and a count"};
    out.push_back(std::move(*entry));
  }
  if (out.empty())
    return error{errc::malformed, name + ": has no request"};
  std::stable_sort(out.begin(), out.end(),
                   [](const trace_entry& a, const trace_entry& b) { return a.at < b.at; });
  for (auto start = out.front().at; auto& entry : out)
    entry.at -= start;
  return out;
}

result<std::string> read_text_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in)
    return error{errc::io_failed, path + ": cannot be opened"};
  std::string out;
  char part[65536];
  while (in.read(part, sizeof part), in.gcount() > 0) {
    out.append(part, static_cast<size_t>(in.gcount()));
    if (out.size() > trace_bytes_max)
      return error{errc::invalid_argument, path + ": is larger than 256 MiB"};
  }
  if (in.bad())
    return error{errc::io_failed, path + ": cannot be read"};
  return out;
}

} // namespace penstock::apps::bench
