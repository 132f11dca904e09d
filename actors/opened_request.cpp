#include "actors/opened_request.hpp"

#include "model/utf8.hpp"

#include <optional>

namespace penstock::actors {

namespace {

std::optional<error> not_utf8(const std::string& field, const std::string& text) {
  if (auto at = model::find_invalid_utf8(text))
    return error{errc::invalid_argument, field + " is not UTF-8 at byte " + std::to_string(*at)};
  return std::nullopt;
}

std::optional<error> beyond(const std::string& field, const std::vector<token_id>& ids,
                            uint32_t limit) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] >= limit)
      return error{errc::invalid_argument,
                   field + "[" + std::to_string(i) + "] is " + std::to_string(ids[i])
                     + ", not below the vocabulary's " + std::to_string(limit)};
  return std::nullopt;
}

std::optional<error> wrong_field(const generate_request& what, uint32_t id_limit) {
  auto wrong = not_utf8("prompt", what.prompt);
  if (!wrong)
    wrong = not_utf8("reply_prefix", what.reply_prefix);
  if (!wrong)
    wrong = not_utf8("cache_salt", what.cache_salt);
  for (size_t i = 0; i < what.stop_strings.size() && !wrong; ++i)
    wrong = not_utf8("stop_strings[" + std::to_string(i) + "]", what.stop_strings[i]);
  if (!wrong)
    wrong = beyond("stop_ids", what.sampling.stop_ids, id_limit);
  if (!wrong)
    wrong = beyond("prompt_ids", what.prompt_ids, id_limit);
  return wrong;
}

result<opened_request> from_ids(const generate_request& what, const model::tokenizer& tokens) {
  opened_request out{what.prompt_ids, {}};
  if (!what.reply_prefix.empty()) {
    model::encode_options how;
    how.add_special = false;
    how.at_start = tokens.is_special(what.prompt_ids.back());
    auto more = tokens.encode(what.reply_prefix, how);
    if (!more)
      return more.err();
    out.prompt.insert(out.prompt.end(), more->begin(), more->end());
  }
  out.text = tokens.decode(out.prompt, {false});
  return out;
}

result<opened_request> from_text(const generate_request& what, const model::tokenizer& tokens) {
  opened_request out{{}, what.prompt + what.reply_prefix};
  if (out.text.empty())
    return error{errc::prompt_empty, "the prompt has no tokens"}; // Special ones or not.
  model::encode_options how;
  how.add_special = !what.raw;
  how.after_text = what.reply_prefix.empty(); // Else the end of a turn would come after it.
  auto ids = tokens.encode(out.text, how);
  if (!ids)
    return ids.err();
  out.prompt = std::move(*ids);
  return out;
}

} // namespace

result<opened_request> open_request(const generate_request& what, const model::tokenizer& tokens,
                                    uint32_t context_tokens) {
  if (auto wrong = wrong_field(what, tokens.id_limit()))
    return *wrong;
  auto out = what.prompt_ids.empty() ? from_text(what, tokens) : from_ids(what, tokens);
  if (!out)
    return out;
  if (out->prompt.empty())
    return error{errc::prompt_empty, "the prompt has no tokens"};
  if (out->prompt.size() >= context_tokens)
    return error{errc::prompt_too_long, "the prompt has " + std::to_string(out->prompt.size())
                                          + " tokens, the model's context holds "
                                          + std::to_string(context_tokens)
                                          + " including at least one to generate"};
  return out;
}

std::string cache_scope_of(const generate_request& what, bool by_tenant) {
  std::string out;
  auto add = [&out](char kind, const std::string& name) {
    if (!name.empty()) { // Its length first, so that no two pairs run together.
      out += kind;
      out += std::to_string(name.size());
      out += ':';
      out += name;
    }
  };
  if (by_tenant)
    add('t', what.tenant);
  add('s', what.cache_salt);
  return out;
}

} // namespace penstock::actors
