// What a tokenizer.json says, as data: the stages of encoding and decoding and their settings.
//
// No behaviour. parse_tokenizer_spec fills it and has refused by name whatever is not listed here;
// normalizer, pre_tokenizer, bpe, added_tokens and token_decoder each take their part.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::model {

struct prepend_step {
  std::string text; ///< Put before every text that is not empty.
};
struct replace_step {
  std::string pattern; ///< A regular expression; literal patterns arrive quoted.
  std::string content;
};
enum class unicode_form : uint8_t { nfc, nfd, nfkc, nfkd };
using normalizer_step = std::variant<prepend_step, replace_step, unicode_form>;

/// What becomes of a match when text is split around it.
enum class split_behavior : uint8_t {
  removed,
  isolated,
  merged_with_previous,
  merged_with_next,
  contiguous, ///< Neighbouring matches are one piece.
};
struct split_step {
  std::string pattern; ///< As in replace_step.
  split_behavior behavior = split_behavior::isolated;
  bool invert = false; ///< The pattern describes what is kept, not the separator.
};
struct byte_level_step {
  bool add_prefix_space = false;
  bool use_regex = true; ///< Split as GPT-2 does, first.
};
/// Whether a Metaspace step puts its mark before a piece that has none.
/// Where a piece of text stands, for what is put before it.
enum class text_place : uint8_t {
  start,     ///< At the start of the input.
  inside,    ///< After an added token: as at the start, but for prepend_scheme::first.
  continued, ///< It goes on after text encoded before: nothing is put before it.
};

enum class prepend_scheme : uint8_t { never, first, always };
struct metaspace_step {
  std::string replacement; ///< One character, stands for a space.
  prepend_scheme scheme = prepend_scheme::always;
  bool split = true; ///< Split before each mark.
};
using pre_tokenizer_step = std::variant<split_step, byte_level_step, metaspace_step>;

/// How the texts of tokens become the text of an answer. Applied in the order of the fields.
struct decoder_spec {
  std::vector<std::pair<std::string, std::string>> replace; ///< Literal, within one token.
  bool byte_level = false;                                  ///< Tokens are spelt in byte_chars.
  bool byte_fallback = false;                               ///< "<0x0A>" is the byte 10.
  std::string metaspace;                ///< Not empty: a character that becomes a space,
  bool metaspace_first_dropped = false; ///< ... or nothing, in the first token.
  std::string strip;                    ///< One character taken from the start of the text,
  uint32_t strip_count_max = 0;         ///< ... at most this often.
  bool join_with_space = false;         ///< No decoder was given: words of a list.
};

struct added_token {
  token_id id = 0;
  std::string content;
  bool special = false;     ///< Control token: left out of answers on request.
  bool normalized = false;  ///< Looked for in normalized text, else in the text as it came.
  bool lstrip = false;      ///< Takes the white space before it along.
  bool rstrip = false;      ///< Takes the white space after it along.
  bool single_word = false; ///< Not inside a longer word.
};

struct bpe_spec {
  std::vector<std::pair<std::string, token_id>> vocab;     ///< Ids may have gaps.
  std::vector<std::pair<std::string, std::string>> merges; ///< Most urgent first.
  std::string unk_token;                                   ///< Empty: none.
  std::string continuing_subword_prefix;
  std::string end_of_word_suffix;
  bool fuse_unk = false;      ///< Neighbouring unknown characters are one token.
  bool byte_fallback = false; ///< Unknown characters become "<0xNN>" tokens, if there are.
  bool ignore_merges = false; ///< A whole word in the vocabulary is taken as it is.
};

struct tokenizer_spec {
  std::vector<added_token> added;
  std::vector<normalizer_step> normalizer;
  std::vector<pre_tokenizer_step> pre_tokenizer;
  bpe_spec bpe;
  std::vector<token_id> prefix; ///< Ids put before a text, e.g. BOS.
  std::vector<token_id> suffix; ///< ... and after it.
  decoder_spec decoder;
};

/// Largest tokenizer.json read, most ids, and longest text of one token.
inline constexpr size_t tokenizer_bytes_max = size_t{64} << 20U;
inline constexpr uint32_t tokenizer_vocab_max = 1U << 22U;
inline constexpr size_t token_bytes_max = 4096;

/// @param source Name for errors.
/// @returns errc::malformed, or errc::unsupported naming the component this build does not know.
[[nodiscard]] result<tokenizer_spec> parse_tokenizer_spec(std::span<const std::byte> bytes,
                                                          std::string_view source);

} // namespace penstock::model
