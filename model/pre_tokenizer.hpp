// The second stage of encoding: a normalized text to the words that BPE merges within.
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

/// A text cut into words that are not empty; in order, not overlapping, perhaps with gaps.
struct word_list {
  std::string text;
  std::vector<text_range> words;

  [[nodiscard]] std::string_view operator[](size_t i) const {
    return std::string_view{text}.substr(words[i].begin, words[i].end - words[i].begin);
  }
};

class pre_tokenizer {
public:
  /// @returns errc::malformed if a pattern does not compile.
  [[nodiscard]] static result<pre_tokenizer> create(const std::vector<pre_tokenizer_step>& steps);

  /// @param text     Well-formed UTF-8.
  /// @returns errc::invalid_argument if a pattern gives up.
  [[nodiscard]] result<word_list> apply(std::string text, text_place at) const;

private:
  struct compiled_step {
    pre_tokenizer_step spec;
    std::vector<text_pattern> pattern; // One if the step splits, else none.
  };
  std::vector<compiled_step> steps_;
};

} // namespace penstock::model
