// Byte-pair encoding: the vocabulary, the merges, and one word to its token ids.
//
// Merges the most urgent pair first, leftmost on ties, in O(n log n) for any word. Knows neither
// text stages nor special tokens. Read-only after construction; any thread.
#pragma once

#include "base/result.hpp"
#include "model/tokenizer_spec.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace penstock::model {

class bpe {
public:
  /// @param source Name for errors.
  /// @returns errc::malformed: an id or a text twice, a merge of or into a token that is not there.
  [[nodiscard]] static result<bpe> create(const bpe_spec& spec, std::string_view source);

  bpe(bpe&&) noexcept = default; // Moving keeps texts_' elements in place; a copy would not.
  bpe& operator=(bpe&&) noexcept = default;
  ~bpe() = default;

  /// Appends the ids of one word.
  /// @param word Well-formed UTF-8, at most 2^31 bytes.
  /// @returns errc::invalid_argument if a character has no token and there is no unknown token.
  [[nodiscard]] result<void> encode(std::string_view word, std::vector<token_id>& out) const;

  [[nodiscard]] std::optional<token_id> find(std::string_view token) const;

  /// @returns The token's text as the file spells it; empty for a gap or an id past the end.
  [[nodiscard]] std::string_view text_of(token_id id) const noexcept {
    return id < texts_.size() ? std::string_view{texts_[id]} : std::string_view{};
  }
  /// @returns One more than the largest id.
  [[nodiscard]] uint32_t id_limit() const noexcept { return static_cast<uint32_t>(texts_.size()); }

private:
  struct merge {
    uint32_t rank;
    token_id merged;
  };
  static constexpr token_id no_token = ~token_id{0};

  bpe() = default;
  [[nodiscard]] result<void> add_vocab(const bpe_spec& spec, std::string_view source);
  [[nodiscard]] result<void> add_merges(const bpe_spec& spec, std::string_view source);
  void fill_tables();

  [[nodiscard]] token_id find_char(std::string_view character, char32_t code_point) const;
  [[nodiscard]] bool add_bytes(std::string_view character, std::vector<token_id>& out) const;
  [[nodiscard]] result<std::vector<token_id>> start_symbols(std::string_view word) const;
  [[nodiscard]] const merge* find_merge(token_id left, token_id right) const;
  void merge_all(const std::vector<token_id>& symbols, std::vector<token_id>& out) const;

  std::vector<std::string> texts_;                     // By id.
  std::unordered_map<std::string_view, token_id> ids_; // Keys point into texts_.
  std::unordered_map<uint64_t, merge> merges_;         // By left << 32 | right.
  std::vector<token_id> char_ids_; // By code point below char_ids_.size(): the common case.
  std::vector<token_id> byte_ids_; // "<0xNN>" by byte, no_token if absent.
  std::optional<token_id> unk_;
  std::string prefix_; // Of a symbol inside a word.
  std::string suffix_; // Of a word's last symbol.
  bool fuse_unk_ = false;
  bool byte_fallback_ = false;
  bool ignore_merges_ = false;
};

} // namespace penstock::model
