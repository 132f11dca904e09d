// The texts of tokens to the bytes of an answer, token by token.
//
// Does not repair UTF-8: one token may hold half a character. Read-only; any thread.
#pragma once

#include "model/tokenizer_spec.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::model {

class token_decoder {
public:
  explicit token_decoder(decoder_spec spec) : spec_(std::move(spec)) {}

  /// How far the start of a text, where spaces are dropped, has been passed.
  struct position {
    bool first_token = true;
    uint32_t stripped = 0;
    bool text_started = false;
  };

  /// Appends the bytes of one token.
  /// @param token    Its text as the vocabulary spells it; not empty.
  /// @param is_added Whether it is an added token, whose text is meant literally.
  void append(std::string& out, std::string_view token, bool is_added, position& at) const;

private:
  [[nodiscard]] std::string bytes_of(std::string_view token, bool is_added, bool is_first) const;

  decoder_spec spec_;
};

} // namespace penstock::model
