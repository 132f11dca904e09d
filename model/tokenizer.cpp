#include "model/tokenizer.hpp"

#include "base/limits.hpp"
#include "model/mapped_file.hpp"
#include "model/tokenizer_parts.hpp"
#include "model/utf8.hpp"

#include <algorithm>

namespace penstock::model {

namespace {

// An added token may repeat an entry of the vocabulary, but not contradict it.
result<void> check_added(const std::vector<added_token>& added, const bpe& words,
                         std::string_view source) {
  for (const added_token& token : added) {
    const std::string_view text = words.text_of(token.id);
    const auto id = words.find(token.content);
    if ((!text.empty() && text != token.content) || (id && *id != token.id))
      return error{errc::malformed, std::string{source} + ": added token with id "
                                      + std::to_string(token.id)
                                      + ": the vocabulary has its id or its content otherwise"};
  }
  return {};
}

result<void> check_template(const tokenizer_spec& spec, uint32_t id_limit,
                            std::string_view source) {
  for (const auto* ids : {&spec.prefix, &spec.suffix})
    for (const token_id id : *ids)
      if (id >= id_limit)
        return error{errc::malformed, std::string{source} + ": post_processor uses id "
                                        + std::to_string(id) + ", ids are below "
                                        + std::to_string(id_limit)};
  return {};
}

} // namespace

tokenizer::tokenizer(std::unique_ptr<parts> p) noexcept : parts_(std::move(p)) {}
tokenizer::tokenizer(tokenizer&&) noexcept = default;
tokenizer& tokenizer::operator=(tokenizer&&) noexcept = default;
tokenizer::~tokenizer() = default;

result<tokenizer> tokenizer::parse(std::span<const std::byte> bytes, std::string_view source) {
  auto spec = parse_tokenizer_spec(bytes, source);
  if (!spec)
    return spec.err();
  const auto located = [&](const error& e) {
    return error{e.code, std::string{source} + ": " + e.detail};
  };
  auto normalize = normalizer::create(spec->normalizer);
  if (!normalize)
    return located(normalize.err());
  auto pre_tokenize = pre_tokenizer::create(spec->pre_tokenizer);
  if (!pre_tokenize)
    return located(pre_tokenize.err());
  auto words = bpe::create(spec->bpe, source);
  if (!words)
    return words.err();
  if (auto checked = check_added(spec->added, *words, source); !checked)
    return checked.err();
  auto added = added_tokens::create(std::move(spec->added), *normalize, source);
  if (!added)
    return added.err();
  const uint32_t limit = std::max(words->id_limit(), added->id_limit());
  if (auto checked = check_template(*spec, limit, source); !checked)
    return checked.err();
  return tokenizer{std::make_unique<parts>(
    parts{*std::move(normalize), *std::move(pre_tokenize), *std::move(words), *std::move(added),
          token_decoder{std::move(spec->decoder)}, std::move(spec->prefix), std::move(spec->suffix),
          digest128_of(bytes)})};
}

result<tokenizer> tokenizer::open(const std::filesystem::path& path) {
  auto file = mapped_file::open(path, tokenizer_bytes_max);
  if (!file)
    return file.err();
  return parse(file->bytes(), path.string());
}

result<void> tokenizer::encode_text(std::string_view text, text_place at, bool parse_special,
                                    std::vector<token_id>& out) const {
  const auto normalized = parts_->normalize.apply(text, at);
  if (!normalized)
    return normalized.err();
  for (const text_piece& piece :
       parts_->added.split(*normalized, added_tokens::stage::normalized, parse_special)) {
    if (piece.id) {
      out.push_back(*piece.id);
      continue;
    }
    const auto list = parts_->pre_tokenize.apply(
      normalized->substr(piece.range.begin, piece.range.end - piece.range.begin),
      piece.range.begin == 0 ? at : text_place::inside);
    if (!list)
      return list.err();
    for (size_t i = 0; i < list->words.size(); ++i)
      if (auto encoded = parts_->words.encode((*list)[i], out); !encoded)
        return encoded;
  }
  return {};
}

result<std::vector<token_id>> tokenizer::encode(std::string_view text,
                                                encode_options options) const {
  if (text.size() > limits::prompt_bytes_max)
    return error{errc::prompt_too_long, std::to_string(text.size())
                                          + " bytes of text, allowed are at most "
                                          + std::to_string(limits::prompt_bytes_max)};
  if (const auto offset = find_invalid_utf8(text))
    return error{errc::invalid_argument,
                 "the text is not valid UTF-8 at byte " + std::to_string(*offset)};
  const auto place = options.at_start ? text_place::start : text_place::continued;
  std::vector<token_id> out;
  if (options.add_special)
    out = parts_->prefix;
  for (const text_piece& piece :
       parts_->added.split(text, added_tokens::stage::raw, options.parse_special)) {
    if (piece.id) {
      out.push_back(*piece.id);
      continue;
    }
    const auto between = text.substr(piece.range.begin, piece.range.end - piece.range.begin);
    const auto at = piece.range.begin > 0 ? text_place::inside : place;
    if (auto encoded = encode_text(between, at, options.parse_special, out); !encoded)
      return encoded.err();
  }
  if (options.add_special && options.after_text)
    out.insert(out.end(), parts_->suffix.begin(), parts_->suffix.end());
  return out;
}

std::string tokenizer::decode(std::span<const token_id> ids, decode_options options) const {
  std::string bytes;
  token_decoder::position at;
  for (const token_id id : ids)
    parts_->append_bytes(bytes, id, options, at);
  return to_valid_utf8(bytes);
}

std::optional<token_id> tokenizer::find(std::string_view token) const {
  if (const added_token* added = parts_->added.find(token))
    return added->id;
  return parts_->words.find(token);
}

std::string_view tokenizer::text_of(token_id id) const {
  if (const added_token* added = parts_->added.find(id))
    return added->content;
  return parts_->words.text_of(id);
}

bool tokenizer::is_special(token_id id) const {
  const added_token* added = parts_->added.find(id);
  return added != nullptr && added->special;
}

uint32_t tokenizer::id_limit() const {
  return std::max(parts_->words.id_limit(), parts_->added.id_limit());
}

const digest128& tokenizer::digest() const {
  return parts_->digest;
}

} // namespace penstock::model
