#include "model/added_tokens.hpp"

#include "model/utf8.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace penstock::model {

namespace {

bool is_space(char32_t c) {
  if (c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85)
    return true;
  const auto category = utf8proc_category(static_cast<int32_t>(c));
  return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL
         || category == UTF8PROC_CATEGORY_ZP;
}

bool is_word(char32_t c) {
  const auto category = utf8proc_category(static_cast<int32_t>(c));
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND)
         || category == UTF8PROC_CATEGORY_NL || category == UTF8PROC_CATEGORY_PC;
}

// Start of the character that ends at `end`, which is not 0.
size_t previous(std::string_view text, size_t end) {
  do
    --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  return end;
}

bool stands_alone(std::string_view text, const text_range& match) {
  if (match.begin > 0 && is_word(utf8_code_point(text, previous(text, match.begin))))
    return false;
  return match.end == text.size() || !is_word(utf8_code_point(text, match.end));
}

// Grows `match` over white space, to the left not before `least`.
text_range with_spaces(std::string_view text, text_range match, const added_token& token,
                       size_t least) {
  if (token.lstrip)
    while (match.begin > least) {
      const size_t before = previous(text, match.begin);
      if (!is_space(utf8_code_point(text, before)))
        break;
      match.begin = before;
    }
  if (token.rstrip)
    while (match.end < text.size() && is_space(utf8_code_point(text, match.end)))
      match.end += utf8_length_of(text[match.end]);
  return match;
}

} // namespace

void added_tokens::trie::add(std::string_view text, size_t index) {
  uint32_t node = 0;
  starts[static_cast<unsigned char>(text[0])] = true;
  for (const char c : text) {
    const uint64_t key = uint64_t{node} << 8U | static_cast<unsigned char>(c);
    const auto [at, is_new] = next.emplace(key, static_cast<uint32_t>(ends.size()));
    if (is_new)
      ends.emplace_back();
    node = at->second;
  }
  if (!ends[node])
    ends[node] = index;
}

result<added_tokens> added_tokens::create(std::vector<added_token> tokens, const normalizer& before,
                                          std::string_view source) {
  added_tokens out;
  out.tokens_ = std::move(tokens);
  for (size_t i = 0; i < out.tokens_.size(); ++i) {
    const added_token& token = out.tokens_[i];
    const std::string where
      = std::string{source} + ": added token with id " + std::to_string(token.id) + ": ";
    if (token.content.empty() || token.content.size() > added_token_bytes_max)
      return error{errc::malformed, where + "its content has 1 to "
                                      + std::to_string(added_token_bytes_max) + " bytes, found "
                                      + std::to_string(token.content.size())};
    if (!out.by_id_.emplace(token.id, i).second)
      return error{errc::malformed, where + "listed twice"};
    out.id_limit_ = std::max(out.id_limit_, token.id + 1);
    if (!token.normalized) {
      out.raw_.add(token.content, i);
      continue;
    }
    const auto content = before.apply(token.content);
    if (!content)
      return content.err();
    if (!content->empty())
      out.normalized_.add(*content, i);
  }
  return out;
}

std::optional<std::pair<size_t, size_t>> added_tokens::longest_at(const trie& tokens,
                                                                  std::string_view text, size_t at,
                                                                  bool parse_special) const {
  std::optional<std::pair<size_t, size_t>> best; // Index, end.
  uint32_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const auto next = tokens.next.find(uint64_t{node} << 8U | static_cast<unsigned char>(text[i]));
    if (next == tokens.next.end())
      break;
    node = next->second;
    const auto& end = tokens.ends[node];
    if (end && (parse_special || !tokens_[*end].special))
      best = {*end, i + 1};
  }
  return best;
}

std::vector<text_piece> added_tokens::split(std::string_view text, stage at,
                                            bool parse_special) const {
  const trie& tokens = at == stage::raw ? raw_ : normalized_;
  std::vector<text_piece> out;
  size_t done = 0; // Text before it is in `out`.
  for (size_t i = 0; i < text.size();) {
    const auto found = tokens.starts[static_cast<unsigned char>(text[i])]
                         ? longest_at(tokens, text, i, parse_special)
                         : std::nullopt;
    if (!found) {
      ++i;
      continue;
    }
    const added_token& token = tokens_[found->first];
    text_range match{i, found->second};
    i = match.end;
    if (token.single_word && !stands_alone(text, match))
      continue;
    match = with_spaces(text, match, token, done);
    if (match.begin > done)
      out.push_back({{done, match.begin}, std::nullopt});
    out.push_back({match, token.id});
    i = done = match.end;
  }
  if (done < text.size())
    out.push_back({{done, text.size()}, std::nullopt});
  return out;
}

const added_token* added_tokens::find(token_id id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &tokens_[at->second];
}

const added_token* added_tokens::find(std::string_view content) const {
  for (const added_token& token : tokens_)
    if (token.content == content)
      return &token;
  return nullptr;
}

} // namespace penstock::model
