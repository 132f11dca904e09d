#include "model/pre_tokenizer.hpp"

#include "model/byte_chars.hpp"

#include <algorithm>
#include <optional>

namespace penstock::model {

namespace {

// GPT-2's split: contractions, words, numbers and punctuation, each with one space before it, and
// white space, the last of which is left to the word after it.
constexpr const char* gpt2_pattern
  = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct piece {
  text_range range;
  bool is_match = false;
};

// All of `length`: the matches and what lies between them.
std::vector<piece> cover(size_t length, const std::vector<text_range>& matches, bool invert) {
  std::vector<piece> out;
  size_t at = 0;
  for (const text_range& match : matches) {
    if (match.begin > at)
      out.push_back({{at, match.begin}, invert});
    out.push_back({match, !invert});
    at = match.end;
  }
  if (at < length)
    out.push_back({{at, length}, invert});
  return out;
}

// A match joins the piece before it, unless that is a match itself.
std::vector<text_range> merge_with_previous(const std::vector<piece>& pieces) {
  std::vector<text_range> out;
  bool after_match = false;
  for (const piece& p : pieces) {
    if (p.is_match && !after_match && !out.empty())
      out.back().end = p.range.end;
    else
      out.push_back(p.range);
    after_match = p.is_match;
  }
  return out;
}

std::vector<text_range> merge_with_next(const std::vector<piece>& pieces) {
  std::vector<text_range> out; // Back to front.
  bool before_match = false;
  for (auto p = pieces.rbegin(); p != pieces.rend(); ++p) {
    if (p->is_match && !before_match && !out.empty())
      out.back().begin = p->range.begin;
    else
      out.push_back(p->range);
    before_match = p->is_match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<text_range> contiguous(const std::vector<piece>& pieces) {
  std::vector<text_range> out;
  std::optional<bool> last;
  for (const piece& p : pieces) {
    if (last == p.is_match)
      out.back().end = p.range.end;
    else
      out.push_back(p.range);
    last = p.is_match;
  }
  return out;
}

std::vector<text_range> arrange(const std::vector<piece>& pieces, split_behavior behavior) {
  std::vector<text_range> out;
  switch (behavior) {
  case split_behavior::removed:
    for (const piece& p : pieces)
      if (!p.is_match)
        out.push_back(p.range);
    return out;
  case split_behavior::isolated:
    for (const piece& p : pieces)
      out.push_back(p.range);
    return out;
  case split_behavior::merged_with_previous:
    return merge_with_previous(pieces);
  case split_behavior::merged_with_next:
    return merge_with_next(pieces);
  case split_behavior::contiguous:
    return contiguous(pieces);
  }
  PS_UNREACHABLE();
}

// Cuts every word by itself: look-around does not see its neighbours.
result<void> split_words(word_list& list, const text_pattern& pattern, split_behavior behavior,
                         bool invert) {
  std::vector<text_range> words;
  std::vector<text_range> matches;
  for (size_t i = 0; i < list.words.size(); ++i) {
    matches.clear();
    if (auto found = pattern.find_all(list[i], matches); !found)
      return found;
    const size_t start = list.words[i].begin;
    for (const text_range& r : arrange(cover(list[i].size(), matches, invert), behavior))
      if (r.end > r.begin)
        words.push_back({start + r.begin, start + r.end});
  }
  list.words = std::move(words);
  return {};
}

// Rewrites every word; `append(out, word, is_first)` adds its new text.
template <class Append>
void map_words(word_list& list, Append append) {
  word_list out;
  out.text.reserve(list.text.size() + list.text.size() / 4);
  for (size_t i = 0; i < list.words.size(); ++i) {
    const size_t begin = out.text.size();
    append(out.text, list[i], i == 0);
    if (out.text.size() > begin)
      out.words.push_back({begin, out.text.size()});
  }
  list = std::move(out);
}

void append_replaced(std::string& out, std::string_view word, char from, std::string_view to) {
  for (const char c : word)
    if (c == from)
      out += to;
    else
      out += c;
}

result<void> apply_byte_level(const byte_level_step& step, const std::vector<text_pattern>& pattern,
                              word_list& list, text_place at) {
  if (step.add_prefix_space)
    map_words(list, [at](std::string& out, std::string_view word, bool is_first) {
      if (!word.starts_with(' ') && !(is_first && at == text_place::continued))
        out += ' ';
      out += word;
    });
  if (step.use_regex)
    if (auto split = split_words(list, pattern.front(), split_behavior::isolated, false); !split)
      return split;
  map_words(list,
            [](std::string& out, std::string_view word, bool) { append_byte_chars(out, word); });
  return {};
}

result<void> apply_metaspace(const metaspace_step& step, const std::vector<text_pattern>& pattern,
                             word_list& list, text_place at) {
  map_words(list, [&](std::string& out, std::string_view word, bool is_first) {
    const bool wanted
      = (step.scheme == prepend_scheme::always && !(is_first && at == text_place::continued))
        || (step.scheme == prepend_scheme::first && is_first && at == text_place::start);
    if (wanted && !word.starts_with(' ') && !word.starts_with(step.replacement))
      out += step.replacement;
    append_replaced(out, word, ' ', step.replacement);
  });
  if (step.split)
    return split_words(list, pattern.front(), split_behavior::merged_with_next, false);
  return {};
}

// The pattern a step splits by, or nothing.
std::optional<std::string> pattern_of(const pre_tokenizer_step& step) {
  if (const auto* split = std::get_if<split_step>(&step))
    return split->pattern;
  if (const auto* bytes = std::get_if<byte_level_step>(&step))
    return bytes->use_regex ? std::optional<std::string>{gpt2_pattern} : std::nullopt;
  const auto& space = std::get<metaspace_step>(step);
  return space.split ? std::optional{quoted_pattern(space.replacement)} : std::nullopt;
}

} // namespace

result<pre_tokenizer> pre_tokenizer::create(const std::vector<pre_tokenizer_step>& steps) {
  pre_tokenizer out;
  for (const pre_tokenizer_step& step : steps) {
    compiled_step compiled{step, {}};
    if (const auto text = pattern_of(step)) {
      auto pattern = text_pattern::compile(*text);
      if (!pattern)
        return pattern.err();
      compiled.pattern.push_back(*std::move(pattern));
    }
    out.steps_.push_back(std::move(compiled));
  }
  return out;
}

result<word_list> pre_tokenizer::apply(std::string text, text_place at) const {
  word_list list;
  list.text = std::move(text);
  if (!list.text.empty())
    list.words.push_back({0, list.text.size()});
  for (const compiled_step& step : steps_) {
    result<void> done;
    if (const auto* split = std::get_if<split_step>(&step.spec))
      done = split_words(list, step.pattern.front(), split->behavior, split->invert);
    else if (const auto* bytes = std::get_if<byte_level_step>(&step.spec))
      done = apply_byte_level(*bytes, step.pattern, list, at);
    else
      done = apply_metaspace(std::get<metaspace_step>(step.spec), step.pattern, list, at);
    if (!done)
      return done.err();
  }
  return list;
}

} // namespace penstock::model
