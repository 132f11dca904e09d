// What a tokenizer is made of. Private to tokenizer.cpp and detokenizer.cpp.
#pragma once

#include "model/added_tokens.hpp"
#include "model/bpe.hpp"
#include "model/normalizer.hpp"
#include "model/pre_tokenizer.hpp"
#include "model/token_decoder.hpp"
#include "model/tokenizer.hpp"

namespace penstock::model {

struct tokenizer::parts {
  normalizer normalize;
  pre_tokenizer pre_tokenize;
  bpe words;
  added_tokens added;
  token_decoder decoder;
  std::vector<token_id> prefix;
  std::vector<token_id> suffix;
  digest128 digest;

  /// Appends the bytes of one token; nothing for an id that is none, or is skipped.
  void append_bytes(std::string& out, token_id id, decode_options options,
                    token_decoder::position& at) const {
    const added_token* special = added.find(id);
    if (special != nullptr && special->special && options.skip_special)
      return;
    const std::string_view text
      = special != nullptr ? std::string_view{special->content} : words.text_of(id);
    if (!text.empty())
      decoder.append(out, text, special != nullptr, at);
  }
};

} // namespace penstock::model
