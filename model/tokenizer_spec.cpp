#include "model/tokenizer_spec.hpp"

#include "model/tokenizer_json.hpp"

namespace penstock::model {

namespace {

result<void> read_vocab(const json& model, std::string_view source, bpe_spec& out) {
  const auto vocab = model.find("vocab");
  if (vocab == model.end() || !vocab->is_object())
    return json_error(source, "model.vocab", "must be an object of token to id");
  out.vocab.reserve(vocab->size());
  for (const auto& [text, id] : vocab->items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= tokenizer_vocab_max)
      return json_error(source, "model.vocab",
                        "ids are integers from 0 to " + std::to_string(tokenizer_vocab_max - 1)
                          + ", found " + json_excerpt(id));
    out.vocab.emplace_back(text, id.get<token_id>());
  }
  return {};
}

// "a b" or ["a", "b"].
bool read_merge(const json& value, std::pair<std::string, std::string>& out) {
  if (value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string()) {
    out = {value[0].get<std::string>(), value[1].get<std::string>()};
    return true;
  }
  if (!value.is_string())
    return false;
  const auto& text = value.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
    return false;
  out = {text.substr(0, space), text.substr(space + 1)};
  return true;
}

result<void> read_merges(const json& model, std::string_view source, bpe_spec& out) {
  const auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array() || merges->size() > tokenizer_vocab_max)
    return json_error(source, "model.merges", "must be a list of pairs");
  out.merges.reserve(merges->size());
  std::pair<std::string, std::string> pair;
  for (const json& merge : *merges) {
    // Lists copied from a merges.txt start with its version line.
    if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version"))
      continue;
    if (!read_merge(merge, pair))
      return json_error(source, "model.merges",
                        "number " + std::to_string(out.merges.size())
                          + " is neither \"a b\" nor [\"a\", \"b\"]: " + json_excerpt(merge));
    out.merges.push_back(std::move(pair));
  }
  return {};
}

result<void> read_model(const json& root, std::string_view source, bpe_spec& out) {
  const auto model = root.find("model");
  if (model == root.end() || !model->is_object())
    return json_error(source, "model", "must be an object");
  json_fields fields{*model, std::string{source} + ": model"};
  const std::string type = fields.text("type", "BPE"); // Old files leave it out.
  if (fields.ok() && type != "BPE")
    return stage_unsupported(source, "model",
                             "type \"" + type.substr(0, 80) + "\" is not known, only \"BPE\" is");
  if (fields.number("dropout", 0.0, 1.0, 0.0F) != 0.0F)
    return stage_unsupported(source, "model", "dropout gives random ids, only null or 0 is taken");
  out.unk_token = fields.text("unk_token", "");
  out.continuing_subword_prefix = fields.text("continuing_subword_prefix", "");
  out.end_of_word_suffix = fields.text("end_of_word_suffix", "");
  out.fuse_unk = fields.boolean("fuse_unk", false);
  out.byte_fallback = fields.boolean("byte_fallback", false);
  out.ignore_merges = fields.boolean("ignore_merges", false);
  if (!fields.ok())
    return fields.err();
  if (auto read = read_vocab(*model, source, out); !read)
    return read;
  return read_merges(*model, source, out);
}

result<void> read_added(const json& root, std::string_view source, std::vector<added_token>& out) {
  const auto list = root.find("added_tokens");
  if (list == root.end() || list->is_null())
    return {};
  if (!list->is_array() || list->size() > tokenizer_vocab_max)
    return json_error(source, "added_tokens", "must be a list of objects");
  for (const json& value : *list) {
    if (!value.is_object())
      return json_error(source, "added_tokens", "must be a list of objects");
    json_fields fields{value, std::string{source} + ": added_tokens"};
    added_token token;
    token.id = fields.integer("id", 0, tokenizer_vocab_max - 1);
    token.content = fields.text("content", "");
    token.special = fields.boolean("special", false);
    token.normalized = fields.boolean("normalized", !token.special);
    token.lstrip = fields.boolean("lstrip", false);
    token.rstrip = fields.boolean("rstrip", false);
    token.single_word = fields.boolean("single_word", false);
    if (!fields.ok())
      return fields.err();
    out.push_back(std::move(token));
  }
  return {};
}

result<void> read_stages(const json& root, std::string_view source, tokenizer_spec& out) {
  const json_fields fields{root, source};
  if (const json* value = fields.find("normalizer"))
    if (auto read = read_normalizer(*value, source, out.normalizer); !read)
      return read;
  if (const json* value = fields.find("pre_tokenizer"))
    if (auto read = read_pre_tokenizer(*value, source, out.pre_tokenizer); !read)
      return read;
  if (const json* value = fields.find("post_processor"))
    if (auto read = read_post_processor(*value, source, out); !read)
      return read;
  const json* decoder = fields.find("decoder");
  out.decoder.join_with_space = decoder == nullptr;
  return decoder == nullptr ? result<void>{} : read_decoder(*decoder, source, out.decoder);
}

} // namespace

// `truncation` and `padding` are ignored on purpose: a prompt is served whole or refused.
result<tokenizer_spec> parse_tokenizer_spec(std::span<const std::byte> bytes,
                                            std::string_view source) {
  if (bytes.size() > tokenizer_bytes_max)
    return error{errc::malformed, std::string{source} + ": " + std::to_string(bytes.size())
                                    + " bytes, allowed are at most "
                                    + std::to_string(tokenizer_bytes_max)};
  auto root = parse_json(bytes, source, duplicate_keys::last_wins);
  if (!root)
    return root.err();
  tokenizer_spec out;
  if (auto read = read_model(*root, source, out.bpe); !read)
    return read.err();
  if (auto read = read_added(*root, source, out.added); !read)
    return read.err();
  if (auto read = read_stages(*root, source, out); !read)
    return read.err();
  return out;
}

} // namespace penstock::model
