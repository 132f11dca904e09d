// Text to token ids and back, as a Hugging Face tokenizer.json of type BPE describes it.
//
// Immutable after construction; any thread, at the same time. Does not know the model's vocabulary
// size (load_model compares), nor chat templates. Streams are decoded by `detokenizer`.
#pragma once

#include "base/digest.hpp"
#include "base/request.hpp"
#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::model {

struct encode_options {
  bool add_special = true;   ///< Put BOS and EOS where the file's template says.
  bool parse_special = true; ///< Text that spells a special token is that token; else it is text.
  bool after_text = true;    ///< Of the special tokens also those the template puts after the text.
  bool at_start = true;      ///< False: it goes on after other text, so no space is put before it.
};

struct decode_options {
  bool skip_special = true; ///< Leave special tokens out.
};

class detokenizer;
enum class text_place : uint8_t;

class tokenizer {
public:
  /// @param bytes  A tokenizer.json, at most tokenizer_bytes_max.
  /// @param source Name for errors, e.g. its path.
  /// @returns errc::malformed, or errc::unsupported naming the component this build does not know.
  [[nodiscard]] static result<tokenizer> parse(std::span<const std::byte> bytes,
                                               std::string_view source);
  /// Reads `path` and parses it. Adds errc::io_failed.
  [[nodiscard]] static result<tokenizer> open(const std::filesystem::path& path);

  tokenizer(tokenizer&&) noexcept;
  tokenizer& operator=(tokenizer&&) noexcept;
  ~tokenizer();

  /// @param text UTF-8, at most limits::prompt_bytes_max bytes; may be empty.
  /// @returns Ids below id_limit(), or errc::invalid_argument (not UTF-8: the detail has the byte
  ///          offset; or a character nothing can spell), or errc::prompt_too_long.
  [[nodiscard]] result<std::vector<token_id>> encode(std::string_view text,
                                                     encode_options options = {}) const;

  /// @param ids Any numbers; those that are no token give nothing.
  /// @returns Well-formed UTF-8: each maximal part that is not becomes one U+FFFD.
  [[nodiscard]] std::string decode(std::span<const token_id> ids,
                                   decode_options options = {}) const;

  /// @returns The id of a token or added token by its exact spelling in the file.
  [[nodiscard]] std::optional<token_id> find(std::string_view token) const;
  /// @returns The spelling of a token; empty if `id` is none.
  [[nodiscard]] std::string_view text_of(token_id id) const;
  /// @returns Whether `id` is an added token marked special.
  [[nodiscard]] bool is_special(token_id id) const;
  /// @returns One more than the largest id.
  [[nodiscard]] uint32_t id_limit() const;
  /// @returns A digest of the file's bytes.
  [[nodiscard]] const digest128& digest() const;

private:
  friend class detokenizer;
  struct parts;
  explicit tokenizer(std::unique_ptr<parts> p) noexcept;

  [[nodiscard]] result<void> encode_text(std::string_view text, text_place at, bool parse_special,
                                         std::vector<token_id>& out) const;

  std::unique_ptr<parts> parts_;
};

} // namespace penstock::model
