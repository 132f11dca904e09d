// One mistake in a file an operator wrote: where it is, what was found, what would be right.
//
// Plain data and its text; finding mistakes is config_reader's and plan's work. All text that came
// from the file is quoted, shortened and free of control characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::cluster {

/// Reported at most; a file with more is not a cluster file.
inline constexpr size_t mistakes_max = 100;

/// Where in a file, counted from 1; line 0: the file as a whole.
struct position {
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const position&) const = default;
};

struct mistake {
  std::string file;
  position at;
  std::string place;   ///< `node "p0"` or `[fabric]`; may be empty.
  std::string key;     ///< The key at fault; empty: the place as a whole.
  std::string found;   ///< Rest of the sentence: `is unknown`, `is 70000`.
  std::string allowed; ///< What would be right; may be empty.
  std::string hint;    ///< What to do; may be empty.
};

/// @returns `file:line:column: place: key "k" found; hint; allowed: ...`, without a newline.
[[nodiscard]] std::string to_text(const mistake& m);

/// @returns A line per mistake, each with a newline.
[[nodiscard]] std::string to_text(std::span<const mistake> list);

/// @returns `text` in double quotes, at most `bytes_max` of it, anything unprintable as \xNN.
[[nodiscard]] std::string in_quotes(std::string_view text, size_t bytes_max = 60);

/// @returns The word of `among` that `word` was probably meant to be; empty if none is close.
[[nodiscard]] std::string_view closest(std::string_view word,
                                       std::span<const std::string_view> among);

} // namespace penstock::cluster
