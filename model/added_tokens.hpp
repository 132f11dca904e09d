// Tokens that are looked for in a text before anything else is done to it, e.g. "<|im_start|>".
//
// Finds the leftmost match, the longest of several. Knows neither BPE nor what the tokens mean.
// Read-only after construction; any thread.
#pragma once

#include "base/result.hpp"
#include "model/normalizer.hpp"
#include "model/text_pattern.hpp"
#include "model/tokenizer_spec.hpp"

#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace penstock::model {

/// A stretch of text: one added token, or text between them.
struct text_piece {
  text_range range;
  std::optional<token_id> id;
};

class added_tokens {
public:
  /// @param before What turns a text into a normalized one; tokens with `normalized` go through it.
  /// @param source Name for errors.
  /// @returns errc::malformed: empty, too long, or an id twice.
  [[nodiscard]] static result<added_tokens>
  create(std::vector<added_token> tokens, const normalizer& before, std::string_view source);

  enum class stage : uint8_t { raw, normalized };

  /// Cuts `text` at the tokens that belong to this stage. No piece is empty.
  /// @param parse_special False: tokens marked special are ordinary text.
  [[nodiscard]] std::vector<text_piece> split(std::string_view text, stage at,
                                              bool parse_special) const;

  /// @returns The added token with this id, or nullptr.
  [[nodiscard]] const added_token* find(token_id id) const;
  [[nodiscard]] const added_token* find(std::string_view content) const;
  /// @returns One more than the largest id; 0 if there are none.
  [[nodiscard]] uint32_t id_limit() const noexcept { return id_limit_; }

private:
  // A trie over the tokens' bytes; node 0 is the root.
  struct trie {
    std::unordered_map<uint64_t, uint32_t> next;           // By node << 8 | byte.
    std::vector<std::optional<size_t>> ends{std::nullopt}; // By node: index into tokens_.
    std::array<bool, 256> starts{};

    void add(std::string_view text, size_t index);
  };

  [[nodiscard]] std::optional<std::pair<size_t, size_t>>
  longest_at(const trie& tokens, std::string_view text, size_t at, bool parse_special) const;

  std::vector<added_token> tokens_;
  std::unordered_map<token_id, size_t> by_id_;
  trie raw_;
  trie normalized_;
  uint32_t id_limit_ = 0;
};

/// Longest text of an added token; bounds the work per byte of text.
inline constexpr size_t added_token_bytes_max = 512;

} // namespace penstock::model
