// The first stage of encoding: text to text, e.g. Unicode NFC or spaces to marks.
//
// Stateless after construction; any thread.
#pragma once

#include "base/result.hpp"
#include "model/text_pattern.hpp"
#include "model/tokenizer_spec.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace penstock::model {

class normalizer {
public:
  /// @returns errc::malformed if a pattern does not compile.
  [[nodiscard]] static result<normalizer> create(const std::vector<normalizer_step>& steps);

  /// @param text Well-formed UTF-8.
  /// @returns Well-formed UTF-8, or errc::invalid_argument if a pattern gives up.
  [[nodiscard]] result<std::string> apply(std::string_view text,
                                          text_place at = text_place::start) const;

private:
  struct compiled_step {
    normalizer_step spec;
    std::vector<text_pattern> pattern; // One for a replace_step, else none.
  };
  std::vector<compiled_step> steps_;
};

/// Unicode normalization in O(n log n), also for endless runs of combining marks.
/// @param text Well-formed UTF-8.
[[nodiscard]] std::string normalize_unicode(std::string_view text, unicode_form form);

} // namespace penstock::model
