#include "model/bpe.hpp"

#include "model/utf8.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <queue>

namespace penstock::model {

namespace {

constexpr size_t char_table_size = 0x3000;
constexpr uint32_t nowhere = ~uint32_t{0};

uint64_t pair_key(token_id left, token_id right) {
  return uint64_t{left} << 32U | right;
}

error vocab_error(std::string_view source, const std::string& what) {
  return {errc::malformed, std::string{source} + ": " + what};
}

// One symbol of a word being merged, in a list linked both ways.
struct symbol {
  token_id id;
  uint32_t previous;
  uint32_t next;
};

} // namespace

result<bpe> bpe::create(const bpe_spec& spec, std::string_view source) {
  bpe out;
  out.prefix_ = spec.continuing_subword_prefix;
  out.suffix_ = spec.end_of_word_suffix;
  out.fuse_unk_ = spec.fuse_unk;
  out.byte_fallback_ = spec.byte_fallback;
  out.ignore_merges_ = spec.ignore_merges;
  if (auto added = out.add_vocab(spec, source); !added)
    return added.err();
  if (auto added = out.add_merges(spec, source); !added)
    return added.err();
  if (!spec.unk_token.empty()) {
    out.unk_ = out.find(spec.unk_token);
    if (!out.unk_)
      return vocab_error(source, "key `unk_token`: not in the vocabulary");
  }
  out.fill_tables();
  return out;
}

result<void> bpe::add_vocab(const bpe_spec& spec, std::string_view source) {
  token_id largest = 0;
  for (const auto& [text, id] : spec.vocab)
    largest = std::max(largest, id);
  if (spec.vocab.empty() || largest >= tokenizer_vocab_max)
    return vocab_error(source, "key `vocab`: needs ids from 0 to "
                                 + std::to_string(tokenizer_vocab_max - 1) + ", at least one");
  texts_.resize(size_t{largest} + 1);
  ids_.reserve(spec.vocab.size());
  for (const auto& [text, id] : spec.vocab) {
    if (text.empty()) // No word leads to it, and it decodes to nothing: as good as a gap.
      continue;
    if (text.size() > token_bytes_max)
      return vocab_error(source, "id " + std::to_string(id) + ": its token has "
                                   + std::to_string(text.size()) + " bytes, allowed are at most "
                                   + std::to_string(token_bytes_max));
    if (!texts_[id].empty())
      return vocab_error(source, "id " + std::to_string(id) + ": two tokens have it");
    texts_[id] = text;
    if (!ids_.emplace(texts_[id], id).second)
      return vocab_error(source, "id " + std::to_string(id) + ": its token has another id too");
  }
  return {};
}

result<void> bpe::add_merges(const bpe_spec& spec, std::string_view source) {
  merges_.reserve(spec.merges.size());
  std::string merged;
  for (size_t rank = 0; rank < spec.merges.size(); ++rank) {
    const auto& [left, right] = spec.merges[rank];
    const auto left_id = find(left);
    const auto right_id = find(right);
    // Inside a word the right side carries the prefix; the merged token has it once, in front.
    if (right.size() < prefix_.size())
      return vocab_error(source, "merge " + std::to_string(rank) + ": lacks the subword prefix");
    merged = left;
    merged += std::string_view{right}.substr(prefix_.size());
    const auto merged_id = find(merged);
    if (!left_id || !right_id || !merged_id)
      return vocab_error(source, "merge " + std::to_string(rank)
                                   + ": its parts and its result must be in the vocabulary");
    merges_.insert_or_assign(pair_key(*left_id, *right_id),
                             merge{static_cast<uint32_t>(rank), *merged_id});
  }
  return {};
}

void bpe::fill_tables() {
  char_ids_.assign(char_table_size, no_token);
  std::string character;
  for (char32_t c = 0; c < char_table_size; ++c) {
    character.clear();
    append_utf8(character, c);
    if (const auto id = find(character))
      char_ids_[c] = *id;
  }
  byte_ids_.assign(256, no_token);
  for (unsigned byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", byte);
    if (const auto id = find(name))
      byte_ids_[byte] = *id;
  }
}

std::optional<token_id> bpe::find(std::string_view token) const {
  const auto at = ids_.find(token);
  return at == ids_.end() ? std::nullopt : std::optional{at->second};
}

token_id bpe::find_char(std::string_view character, char32_t code_point) const {
  if (code_point < char_ids_.size())
    return char_ids_[code_point];
  return find(character).value_or(no_token);
}

bool bpe::add_bytes(std::string_view character, std::vector<token_id>& out) const {
  const auto id_of = [&](char c) { return byte_ids_[static_cast<unsigned char>(c)]; };
  for (const char c : character)
    if (id_of(c) == no_token)
      return false;
  for (const char c : character)
    out.push_back(id_of(c));
  return true;
}

result<std::vector<token_id>> bpe::start_symbols(std::string_view word) const {
  std::vector<token_id> out;
  out.reserve(word.size());
  bool after_unk = false;
  std::string decorated;
  for (size_t at = 0; at < word.size();) {
    const size_t length = utf8_length_of(word[at]);
    const std::string_view character = word.substr(at, length);
    const std::string_view front = at > 0 ? std::string_view{prefix_} : std::string_view{};
    const std::string_view back
      = at + length == word.size() ? std::string_view{suffix_} : std::string_view{};
    token_id id = no_token;
    if (front.empty() && back.empty()) {
      id = find_char(character, utf8_code_point(word, at));
    } else {
      decorated.assign(front).append(character).append(back);
      id = find(decorated).value_or(no_token);
    }
    at += length;
    if (id != no_token) {
      out.push_back(id);
      after_unk = false;
    } else if (byte_fallback_ && add_bytes(character, out)) {
      after_unk = false;
    } else if (unk_) {
      if (!after_unk || !fuse_unk_)
        out.push_back(*unk_);
      after_unk = true;
    } else {
      return error{errc::invalid_argument,
                   "the text has a character that the vocabulary cannot spell"};
    }
  }
  return out;
}

const bpe::merge* bpe::find_merge(token_id left, token_id right) const {
  const auto at = merges_.find(pair_key(left, right));
  return at == merges_.end() ? nullptr : &at->second;
}

void bpe::merge_all(const std::vector<token_id>& start, std::vector<token_id>& out) const {
  const auto count = static_cast<uint32_t>(start.size());
  std::vector<symbol> symbols(count);
  for (uint32_t i = 0; i < count; ++i)
    symbols[i] = {start[i], i == 0 ? nowhere : i - 1, i + 1 == count ? nowhere : i + 1};
  // An entry is rank << 32 | position of the left symbol: the least is the next merge. Merging
  // changes pairs, so an entry counts only if the pair at its position still has its rank.
  std::vector<uint64_t> entries;
  const auto entry_at = [&](uint32_t left) -> std::optional<uint64_t> {
    if (symbols[left].next == nowhere)
      return std::nullopt;
    const merge* found = find_merge(symbols[left].id, symbols[symbols[left].next].id);
    if (found == nullptr)
      return std::nullopt;
    return uint64_t{found->rank} << 32U | left;
  };
  for (uint32_t i = 0; i + 1 < count; ++i)
    if (const auto entry = entry_at(i))
      entries.push_back(*entry);
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue{std::greater<>{},
                                                                             std::move(entries)};
  while (!queue.empty()) {
    const uint64_t entry = queue.top();
    queue.pop();
    const auto left = static_cast<uint32_t>(entry);
    if (symbols[left].id == no_token || entry_at(left) != entry)
      continue;
    const uint32_t right = symbols[left].next;
    symbols[left].id = find_merge(symbols[left].id, symbols[right].id)->merged;
    symbols[left].next = symbols[right].next;
    symbols[right].id = no_token;
    if (symbols[left].next != nowhere)
      symbols[symbols[left].next].previous = left;
    if (const auto next = entry_at(left))
      queue.push(*next);
    if (symbols[left].previous != nowhere)
      if (const auto before = entry_at(symbols[left].previous))
        queue.push(*before);
  }
  for (uint32_t i = 0; i != nowhere; i = symbols[i].next)
    out.push_back(symbols[i].id);
}

result<void> bpe::encode(std::string_view word, std::vector<token_id>& out) const {
  if (word.empty())
    return {};
  PS_CHECK(word.size() <= size_t{1} << 31U);
  if (ignore_merges_)
    if (const auto whole = find(word)) {
      out.push_back(*whole);
      return {};
    }
  const auto symbols = start_symbols(word);
  if (!symbols)
    return symbols.err();
  merge_all(*symbols, out);
  return {};
}

} // namespace penstock::model
