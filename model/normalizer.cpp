#include "model/normalizer.hpp"

#include "model/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace penstock::model {

namespace {

constexpr char32_t nfc_plain_end = 0x300; // Below it nothing changes under NFC.
constexpr char32_t ascii_end = 0x80;      // Below it nothing changes under any form.

bool all_below(std::string_view text, char32_t end) {
  for (size_t at = 0; at < text.size(); at += utf8_length_of(text[at]))
    if (utf8_code_point(text, at) >= end)
      return false;
  return true;
}

uint16_t combining_class(int32_t code_point) {
  return static_cast<uint16_t>(utf8proc_get_property(code_point)->combining_class);
}

// Canonical ordering. utf8proc's own is an insertion sort: quadratic in a run of marks, which a
// hostile prompt can make as long as itself.
void sort_marks(std::vector<int32_t>& text) {
  auto by_class = [](int32_t a, int32_t b) { return combining_class(a) < combining_class(b); };
  for (size_t i = 0; i < text.size();) {
    if (combining_class(text[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && combining_class(text[end]) != 0)
      ++end;
    std::stable_sort(text.begin() + static_cast<ptrdiff_t>(i),
                     text.begin() + static_cast<ptrdiff_t>(end), by_class);
    i = end;
  }
}

std::string replaced(std::string_view text, const std::vector<text_range>& matches,
                     std::string_view content) {
  std::string out;
  out.reserve(text.size());
  size_t at = 0;
  for (const text_range& match : matches) {
    out += text.substr(at, match.begin - at);
    out += content;
    at = match.end;
  }
  out += text.substr(at);
  return out;
}

} // namespace

std::string normalize_unicode(std::string_view text, unicode_form form) {
  if (all_below(text, form == unicode_form::nfc ? nfc_plain_end : ascii_end))
    return std::string{text};
  const bool compat = form == unicode_form::nfkc || form == unicode_form::nfkd;
  const bool compose = form == unicode_form::nfc || form == unicode_form::nfkc;
  const auto stable = static_cast<int>(UTF8PROC_STABLE);
  const auto decompose_options = static_cast<utf8proc_option_t>(
    stable | UTF8PROC_DECOMPOSE | (compat ? static_cast<int>(UTF8PROC_COMPAT) : 0));
  std::vector<int32_t> points;
  points.reserve(text.size());
  for (size_t at = 0; at < text.size(); at += utf8_length_of(text[at])) {
    constexpr int expansion_max = 32; // Unicode's longest decomposition has 18.
    int32_t expanded[expansion_max];
    int boundary = 0;
    const auto count
      = utf8proc_decompose_char(static_cast<int32_t>(utf8_code_point(text, at)), expanded,
                                expansion_max, decompose_options, &boundary);
    PS_CHECK(count >= 0 && count <= expansion_max);
    points.insert(points.end(), expanded, expanded + count);
  }
  sort_marks(points);
  auto length = static_cast<utf8proc_ssize_t>(points.size());
  if (compose)
    length = utf8proc_normalize_utf32(points.data(), length,
                                      static_cast<utf8proc_option_t>(stable | UTF8PROC_COMPOSE));
  PS_CHECK(length >= 0);
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < length; ++i)
    append_utf8(out, static_cast<char32_t>(points[static_cast<size_t>(i)]));
  return out;
}

result<normalizer> normalizer::create(const std::vector<normalizer_step>& steps) {
  normalizer out;
  for (const normalizer_step& step : steps) {
    compiled_step compiled{step, {}};
    if (const auto* replace = std::get_if<replace_step>(&step)) {
      auto pattern = text_pattern::compile(replace->pattern);
      if (!pattern)
        return pattern.err();
      compiled.pattern.push_back(*std::move(pattern));
    }
    out.steps_.push_back(std::move(compiled));
  }
  return out;
}

result<std::string> normalizer::apply(std::string_view text, text_place at) const {
  std::string out{text};
  for (const compiled_step& step : steps_) {
    if (const auto* prepend = std::get_if<prepend_step>(&step.spec)) {
      if (!out.empty() && at != text_place::continued)
        out.insert(0, prepend->text);
    } else if (const auto* form = std::get_if<unicode_form>(&step.spec)) {
      out = normalize_unicode(out, *form);
    } else {
      std::vector<text_range> matches;
      if (auto found = step.pattern.front().find_all(out, matches); !found)
        return found.err();
      out = replaced(out, matches, std::get<replace_step>(step.spec).content);
    }
  }
  return out;
}

} // namespace penstock::model
