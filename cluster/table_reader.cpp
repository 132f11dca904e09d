#include "cluster/table_reader.hpp"

#include <algorithm>
#include <charconv>

namespace penstock::cluster {
namespace {

std::string describe(const toml::node& node) {
  if (const auto* text = node.as_string())
    return "is " + in_quotes(text->get());
  if (const auto* number = node.as_integer())
    return "is " + std::to_string(number->get());
  if (const auto* yes = node.as_boolean())
    return yes->get() ? "is true" : "is false";
  if (node.is_floating_point())
    return "is a number with a fraction";
  if (node.is_array())
    return "is an array";
  return node.is_table() ? "is a table" : "is a date or a time";
}

std::string list(std::span<const std::string_view> words, bool quote) {
  std::string out;
  for (std::string_view word : words)
    out += (out.empty() ? "" : ", ") + (quote ? in_quotes(word) : std::string{word});
  return out;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> among) {
  std::string_view best = closest(word, among);
  return best.empty() ? "" : "did you mean " + in_quotes(best) + '?';
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 32 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

bool is_control(char c) {
  return (c >= 0 && c < 0x20) || c == 0x7f;
}

} // namespace

void findings::add(mistake m) {
  if (mistakes.size() < mistakes_max)
    mistakes.push_back(std::move(m));
}

void findings::warn(mistake m) {
  if (warnings.size() < mistakes_max)
    warnings.push_back(std::move(m));
}

position position_of(const toml::source_region& region) noexcept {
  return {region.begin.line, region.begin.column};
}

std::optional<uint64_t> parse_size(std::string_view text) noexcept {
  uint64_t count = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code != std::errc{})
    return {};
  auto unit = text.substr(static_cast<size_t>(end - text.data()));
  while (unit.starts_with(' '))
    unit.remove_prefix(1);
  uint32_t shift = 0;
  if (unit == "KiB")
    shift = 10;
  else if (unit == "MiB")
    shift = 20;
  else if (unit == "GiB")
    shift = 30;
  else if (!unit.empty())
    return {};
  if (count > (std::numeric_limits<uint64_t>::max() >> shift))
    return {};
  return count << shift;
}

std::string size_text(uint64_t bytes) {
  constexpr std::pair<uint32_t, std::string_view> units[]
    = {{30, " GiB"}, {20, " MiB"}, {10, " KiB"}};
  for (auto [shift, unit] : units)
    if (bytes >> shift > 0 && (bytes & ((uint64_t{1} << shift) - 1)) == 0)
      return std::to_string(bytes >> shift) + std::string{unit};
  return std::to_string(bytes) + " bytes";
}

table_reader::table_reader(const toml::table& table, std::string place, findings& out)
  : table_(table), place_(std::move(place)), out_(out) {}

const toml::node* table_reader::ask(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end())
    known_.push_back(key);
  return table_.get(key);
}

mistake table_reader::about(std::string_view key, std::string found) const {
  const toml::node* node = key.empty() ? nullptr : table_.get(key);
  return {out_.file,
          position_of(node == nullptr ? table_.source() : node->source()),
          place_,
          std::string{key},
          std::move(found),
          {},
          {}};
}

void table_reader::wrong(std::string_view key, std::string found, std::string allowed,
                         std::string hint) {
  mistake m = about(key, std::move(found));
  m.allowed = std::move(allowed);
  m.hint = std::move(hint);
  out_.add(std::move(m));
}

void table_reader::warn(std::string_view key, std::string found, std::string hint) {
  mistake m = about(key, std::move(found));
  m.hint = std::move(hint);
  out_.warn(std::move(m));
}

void table_reader::missing(std::string_view key, std::string allowed) {
  wrong(key, "is missing", std::move(allowed));
}

void table_reader::text(std::string_view key, std::string& into, size_t bytes_max) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return;
  const auto* value = node->as_string();
  std::string allowed = "text of 1.." + std::to_string(bytes_max) + " bytes";
  if (value == nullptr)
    return wrong(key, describe(*node), allowed);
  const std::string& got = value->get();
  if (got.empty() || got.size() > bytes_max)
    return wrong(key, "has " + std::to_string(got.size()) + " bytes", allowed);
  if (std::any_of(got.begin(), got.end(), is_control))
    return wrong(key, "has a control character: " + in_quotes(got), allowed);
  into = got;
}

void table_reader::name(std::string_view key, std::string& into) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return;
  const auto* value = node->as_string();
  if (value == nullptr || !is_name(value->get()))
    return wrong(key, describe(*node), "1..32 of a-z, 0-9, _ and -");
  into = value->get();
}

std::optional<uint64_t> table_reader::number_in(std::string_view key, uint64_t least, uint64_t most,
                                                std::string_view unit) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return {};
  const auto* value = node->as_integer();
  if (value != nullptr && value->get() >= 0 && static_cast<uint64_t>(value->get()) >= least
      && static_cast<uint64_t>(value->get()) <= most)
    return static_cast<uint64_t>(value->get());
  std::string allowed = "an integer in " + std::to_string(least) + ".." + std::to_string(most);
  if (!unit.empty())
    allowed += " (" + std::string{unit} + ')';
  wrong(key, describe(*node), std::move(allowed));
  return {};
}

void table_reader::size(std::string_view key, uint64_t& into, uint64_t least, uint64_t most) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return;
  std::optional<uint64_t> bytes;
  if (const auto* text = node->as_string())
    bytes = parse_size(text->get());
  else if (const auto* number = node->as_integer(); number != nullptr && number->get() >= 0)
    bytes = static_cast<uint64_t>(number->get());
  if (!bytes || *bytes < least || *bytes > most)
    return wrong(key, describe(*node),
                 "a size in " + size_text(least) + ".." + size_text(most)
                   + R"(, written as bytes or as "512KiB", "64MiB", "2GiB")");
  into = *bytes;
}

void table_reader::address(std::string_view key, std::optional<endpoint>& into) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return;
  constexpr const char* allowed = R"(ADDRESS:PORT such as "127.0.0.1:7600" or "[::1]:7600")";
  const auto* value = node->as_string();
  if (value == nullptr)
    return wrong(key, describe(*node), allowed);
  auto parsed = parse_endpoint(value->get());
  if (!parsed)
    return wrong(key, describe(*node), allowed, parsed.err().detail);
  into = std::move(*parsed);
  if (!into->is_loopback())
    warn(key, "is " + in_quotes(into->text()) + ", which other machines can reach",
         "its traffic is in clear and not authenticated: keep it on a trusted network");
}

void table_reader::numbers(std::string_view key, std::vector<uint32_t>& into, size_t count_max,
                           uint32_t most) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return;
  std::string allowed = "an array of 1.." + std::to_string(count_max) + " different integers in 0.."
                        + std::to_string(most);
  const auto* array = node->as_array();
  if (array == nullptr || array->empty() || array->size() > count_max)
    return wrong(
      key, array == nullptr ? describe(*node) : "is an array of " + std::to_string(array->size()),
      allowed);
  std::vector<uint32_t> got;
  for (const toml::node& item : *array) {
    const auto* number = item.as_integer();
    if (number == nullptr || number->get() < 0 || number->get() > int64_t{most})
      return wrong(key, "has an entry that " + describe(item), allowed);
    auto value = static_cast<uint32_t>(number->get());
    if (std::find(got.begin(), got.end(), value) != got.end())
      return wrong(key, "names " + std::to_string(value) + " twice", allowed);
    got.push_back(value);
  }
  into = std::move(got);
}

std::optional<size_t> table_reader::choice(std::string_view key,
                                           std::span<const std::string_view> words) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return {};
  std::string hint;
  if (const auto* value = node->as_string()) {
    auto found = std::find(words.begin(), words.end(), std::string_view{value->get()});
    if (found != words.end())
      return static_cast<size_t>(found - words.begin());
    hint = suggestion(value->get(), words);
  }
  wrong(key, describe(*node), list(words, true), std::move(hint));
  return {};
}

std::vector<size_t> table_reader::choices(std::string_view key,
                                          std::span<const std::string_view> words) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return {};
  const auto* array = node->as_array();
  std::string allowed = "an array of one or more of " + list(words, true);
  if (array == nullptr || array->empty()) {
    wrong(key, array == nullptr ? describe(*node) : "is empty", allowed);
    return {};
  }
  std::vector<size_t> out;
  for (const toml::node& item : *array) {
    const auto* value = item.as_string();
    std::string_view word = value == nullptr ? std::string_view{} : value->get();
    auto index = static_cast<size_t>(std::find(words.begin(), words.end(), word) - words.begin());
    if (index == words.size()) {
      wrong(key, "has an entry that " + describe(item), allowed, suggestion(word, words));
      return {};
    }
    if (std::find(out.begin(), out.end(), index) != out.end()) {
      wrong(key, "names " + in_quotes(word) + " twice", allowed);
      return {};
    }
    out.push_back(index);
  }
  return out;
}

const toml::table* table_reader::table(std::string_view key) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return nullptr;
  const toml::table* out = node->as_table();
  if (out == nullptr)
    wrong(key, describe(*node), "a table: [" + std::string{key} + ']');
  return out;
}

std::vector<const toml::table*> table_reader::tables(std::string_view key, size_t count_max) {
  const toml::node* node = ask(key);
  if (node == nullptr)
    return {};
  const toml::array* array = node->as_array();
  std::string allowed = "1.." + std::to_string(count_max) + " tables [[" + std::string{key} + "]]";
  std::vector<const toml::table*> out;
  if (array == nullptr || array->size() > count_max) {
    wrong(key,
          array == nullptr ? describe(*node)
                           : "appears " + std::to_string(array->size()) + " times",
          allowed);
    return out;
  }
  for (const toml::node& item : *array) {
    if (!item.is_table()) {
      wrong(key, "has an entry that " + describe(item), allowed);
      return {};
    }
    out.push_back(item.as_table());
  }
  return out;
}

void table_reader::finish() {
  for (const auto& [key, node] : table_) {
    if (std::find(known_.begin(), known_.end(), key.str()) != known_.end())
      continue;
    mistake m = about({}, "is unknown");
    m.at = position_of(key.source());
    m.key = key.str();
    m.allowed = list(known_, false);
    m.hint = m.key.starts_with("tls") ? "TLS between nodes is not in this release"
                                      : suggestion(key.str(), known_);
    out_.add(std::move(m));
  }
}

} // namespace penstock::cluster
