// One compiled regular expression (PCRE2, Unicode properties on) and its matches in a text.
//
// Knows no tokenizer. Work is bounded: a pattern that backtracks too much for the length of the
// text gives an error, not a hang.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::model {

struct text_range {
  size_t begin = 0;
  size_t end = 0;
};

class text_pattern {
public:
  /// @returns errc::malformed with PCRE2's message and the position in the pattern.
  [[nodiscard]] static result<text_pattern> compile(const std::string& pattern);

  text_pattern(text_pattern&&) noexcept;
  text_pattern& operator=(text_pattern&&) noexcept;
  ~text_pattern();

  /// Appends the matches in `text`, left to right, without overlap; some may be empty.
  /// @param text Well-formed UTF-8. What lies outside of it is not seen by look-around.
  /// @returns errc::invalid_argument if a match needs too many steps.
  [[nodiscard]] result<void> find_all(std::string_view text, std::vector<text_range>& out) const;

private:
  struct compiled;
  explicit text_pattern(std::unique_ptr<compiled> code) noexcept;

  std::unique_ptr<compiled> code_;
};

/// @returns A pattern that matches exactly `literal`.
[[nodiscard]] std::string quoted_pattern(std::string_view literal);

inline constexpr size_t pattern_bytes_max = 16384;

} // namespace penstock::model
