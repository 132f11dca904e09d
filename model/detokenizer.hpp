// Token ids to text as they come, each piece final: never half a UTF-8 character.
//
// One per answer; not thread-safe. Invariant: all pushes and flush() joined are what
// tokenizer::decode gives for all ids at once.
#pragma once

#include "base/request.hpp"
#include "model/token_decoder.hpp"
#include "model/tokenizer.hpp"

#include <span>
#include <string>

namespace penstock::model {

class detokenizer {
public:
  /// @param from Outlives this.
  explicit detokenizer(const tokenizer& from, decode_options options = {}) noexcept
    : from_(from), options_(options) {}

  /// Takes ids whose text is not wanted, e.g. the prompt: what follows is then decoded as its
  /// continuation (no leading space dropped, a character begun there is finished).
  void skip(std::span<const token_id> ids);

  /// @returns Text that later ids cannot change; often empty. Holds back at most 3 bytes.
  [[nodiscard]] std::string push(token_id id);

  /// @returns What was held back: U+FFFD for an unfinished character. Then as if nothing is held.
  [[nodiscard]] std::string flush();

  /// @returns True if the last ids end within a character that no text has yet.
  [[nodiscard]] bool is_mid_character() const noexcept { return !held_.empty(); }

private:
  const tokenizer& from_;
  decode_options options_;
  token_decoder::position at_;
  std::string held_; // Bytes of a character that has not ended, at most 3.
};

} // namespace penstock::model
