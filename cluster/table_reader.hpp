// Reads the keys of one TOML table into typed fields, and collects whatever is wrong with them.
//
// A key is known once it has been asked for; finish() reports the rest as unknown. Private to this
// folder's .cpp files. A field keeps its value (its default) when its key is absent or wrong.
#pragma once

#include "cluster/endpoint.hpp"
#include "cluster/mistake.hpp"
#include "cluster/toml.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace penstock::cluster {

/// Mistakes and warnings of one file, capped at mistakes_max each.
struct findings {
  std::string file;
  std::vector<mistake> mistakes;
  std::vector<mistake> warnings;

  void add(mistake m);
  void warn(mistake m);
};

class table_reader {
public:
  /// @param table, out Outlive the reader.
  /// @param place `node "p0"` or `[fabric]`, for messages.
  table_reader(const toml::table& table, std::string place, findings& out);

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  [[nodiscard]] const std::string& place() const noexcept { return place_; }
  void rename(std::string place) { place_ = std::move(place); }

  /// 1..bytes_max bytes of UTF-8 without control characters.
  void text(std::string_view key, std::string& into, size_t bytes_max);
  /// A name: [a-z0-9_-], 1..32 bytes.
  void name(std::string_view key, std::string& into);
  /// An integer in [least, most]; `unit` is for messages and may be empty.
  template <class Int>
  void number(std::string_view key, Int& into, uint64_t least, uint64_t most,
              std::string_view unit = {}) {
    static_assert(std::is_unsigned_v<Int>);
    if (auto value = number_in(key, least, most, unit))
      into = static_cast<Int>(*value);
  }
  /// Bytes: an integer, or text such as "64MiB".
  void size(std::string_view key, uint64_t& into, uint64_t least, uint64_t most);
  void address(std::string_view key, std::optional<endpoint>& into);
  /// An array of 1..count_max distinct integers in [0, most].
  void numbers(std::string_view key, std::vector<uint32_t>& into, size_t count_max, uint32_t most);
  /// @returns The index in `words` of the key's text; absent if the key is absent or wrong.
  [[nodiscard]] std::optional<size_t> choice(std::string_view key,
                                             std::span<const std::string_view> words);
  /// An array of distinct words. @returns Their indices in `words`.
  [[nodiscard]] std::vector<size_t> choices(std::string_view key,
                                            std::span<const std::string_view> words);
  /// @returns The table under the key; null if absent or no table, which is reported.
  [[nodiscard]] const toml::table* table(std::string_view key);
  /// @returns The tables under `[[key]]`, at most count_max.
  [[nodiscard]] std::vector<const toml::table*> tables(std::string_view key, size_t count_max);

  /// The key was needed and is not there.
  void missing(std::string_view key, std::string allowed);
  /// Reports `key`'s value. `found` continues a sentence that begins with the key.
  void wrong(std::string_view key, std::string found, std::string allowed, std::string hint = {});
  void warn(std::string_view key, std::string found, std::string hint);
  /// Reports every key never asked for. Call once, last.
  void finish();

private:
  [[nodiscard]] const toml::node* ask(std::string_view key);
  [[nodiscard]] std::optional<uint64_t> number_in(std::string_view key, uint64_t least,
                                                  uint64_t most, std::string_view unit);
  [[nodiscard]] mistake about(std::string_view key, std::string found) const;

  const toml::table& table_;
  std::string place_;
  findings& out_;
  std::vector<std::string_view> known_; // Views of literals.
};

[[nodiscard]] position position_of(const toml::source_region& region) noexcept;

/// @returns Bytes of "512", "64KiB", "64MiB", "2GiB"; absent if it is no such text or too large.
[[nodiscard]] std::optional<uint64_t> parse_size(std::string_view text) noexcept;

/// @returns "64 MiB" or "4097 bytes".
[[nodiscard]] std::string size_text(uint64_t bytes);

} // namespace penstock::cluster
