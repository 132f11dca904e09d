#include "model/text_pattern.hpp"
#include "model/tokenizer_json.hpp"
#include "model/utf8.hpp"

namespace penstock::model {

namespace {

constexpr size_t steps_max = 64;

// Calls `read` for the value or, if it is a Sequence, for each of its members in order.
template <class Read>
result<void> for_each_component(const json& value, std::string_view source, std::string_view stage,
                                const char* members, Read read) {
  const auto type = component_type(value, source, stage);
  if (!type)
    return type.err();
  if (*type != "Sequence")
    return read(*type, value);
  const auto list = value.find(members);
  if (list == value.end() || !list->is_array() || list->size() > steps_max)
    return json_error(source, std::string{stage} + "." + members,
                      "must be a list of at most " + std::to_string(steps_max));
  for (const json& member : *list)
    if (auto done = for_each_component(member, source, stage, members, read); !done)
      return done;
  return {};
}

error unknown_type(std::string_view source, std::string_view stage, const std::string& type) {
  return stage_unsupported(source, stage, "type \"" + type.substr(0, 80) + "\" is not known");
}

result<void> done(const json_fields& fields) {
  return fields.ok() ? result<void>{} : result<void>{fields.err()};
}

result<split_behavior> read_behavior(const std::string& name, std::string_view source) {
  if (name == "Removed")
    return split_behavior::removed;
  if (name == "Isolated")
    return split_behavior::isolated;
  if (name == "MergedWithPrevious")
    return split_behavior::merged_with_previous;
  if (name == "MergedWithNext")
    return split_behavior::merged_with_next;
  if (name == "Contiguous")
    return split_behavior::contiguous;
  return stage_unsupported(source, "pre_tokenizer",
                           "split behavior \"" + name.substr(0, 80) + "\" is not known");
}

result<metaspace_step> read_metaspace(const json& value, std::string_view source,
                                      std::string_view stage) {
  json_fields fields{value, std::string{source} + ": " + std::string{stage}};
  metaspace_step out;
  out.replacement = fields.text("replacement", "\xE2\x96\x81");
  out.split = fields.boolean("split", true);
  // Files from before prepend_scheme have add_prefix_space.
  const bool prefix = fields.boolean("add_prefix_space", true);
  const std::string scheme = fields.text("prepend_scheme", prefix ? "always" : "never");
  if (scheme == "never")
    out.scheme = prepend_scheme::never;
  else if (scheme == "first")
    out.scheme = prepend_scheme::first;
  else if (scheme != "always")
    fields.fail("prepend_scheme", "\"always\", \"first\", \"never\"");
  if (out.replacement.empty() || utf8_length_of(out.replacement[0]) != out.replacement.size())
    fields.fail("replacement", "one character");
  if (!fields.ok())
    return fields.err();
  return out;
}

} // namespace

error stage_unsupported(std::string_view source, std::string_view stage, std::string_view what) {
  return {errc::unsupported,
          std::string{source} + ": " + std::string{stage} + ": " + std::string{what}};
}

result<std::string> component_type(const json& value, std::string_view source,
                                   std::string_view stage) {
  if (!value.is_object() || !value.contains("type") || !value["type"].is_string())
    return json_error(source, stage, "must be null or an object with a `type`");
  return value["type"].get<std::string>();
}

result<std::string> read_pattern(const json& object, std::string_view source,
                                 std::string_view stage) {
  const auto pattern = object.find("pattern");
  if (pattern != object.end() && pattern->is_object() && pattern->size() == 1) {
    const json& text = *pattern->begin();
    if (text.is_string() && pattern->contains("Regex"))
      return text.get<std::string>();
    if (text.is_string() && pattern->contains("String")
        && !text.get_ref<const std::string&>().empty())
      return quoted_pattern(text.get_ref<const std::string&>());
  }
  return json_error(source, std::string{stage} + ".pattern",
                    "must be {\"String\": text} or {\"Regex\": text}");
}

result<void> read_normalizer(const json& value, std::string_view source,
                             std::vector<normalizer_step>& out) {
  const auto read = [&](const std::string& type, const json& one) -> result<void> {
    json_fields fields{one, std::string{source} + ": normalizer " + type};
    if (type == "NFC")
      out.emplace_back(unicode_form::nfc);
    else if (type == "NFD")
      out.emplace_back(unicode_form::nfd);
    else if (type == "NFKC")
      out.emplace_back(unicode_form::nfkc);
    else if (type == "NFKD")
      out.emplace_back(unicode_form::nfkd);
    else if (type == "Prepend")
      out.emplace_back(prepend_step{fields.text("prepend", "")});
    else if (type == "Replace") {
      auto pattern = read_pattern(one, source, "normalizer");
      if (!pattern)
        return pattern.err();
      out.emplace_back(replace_step{*std::move(pattern), fields.text("content", "")});
    } else
      return unknown_type(source, "normalizer", type);
    return done(fields);
  };
  return for_each_component(value, source, "normalizer", "normalizers", read);
}

result<void> read_pre_tokenizer(const json& value, std::string_view source,
                                std::vector<pre_tokenizer_step>& out) {
  const auto read = [&](const std::string& type, const json& one) -> result<void> {
    json_fields fields{one, std::string{source} + ": pre_tokenizer " + type};
    if (type == "ByteLevel") {
      out.emplace_back(byte_level_step{fields.boolean("add_prefix_space", true),
                                       fields.boolean("use_regex", true)});
    } else if (type == "Digits") {
      const bool single = fields.boolean("individual_digits", false);
      out.emplace_back(split_step{
        R"(\p{N})", single ? split_behavior::isolated : split_behavior::contiguous, false});
    } else if (type == "Metaspace") {
      auto step = read_metaspace(one, source, "pre_tokenizer");
      if (!step)
        return step.err();
      out.emplace_back(*std::move(step));
    } else if (type == "Split") {
      auto pattern = read_pattern(one, source, "pre_tokenizer");
      if (!pattern)
        return pattern.err();
      auto behavior = read_behavior(fields.text("behavior", ""), source);
      if (!behavior)
        return behavior.err();
      out.emplace_back(split_step{*std::move(pattern), *behavior, fields.boolean("invert", false)});
    } else {
      return unknown_type(source, "pre_tokenizer", type);
    }
    return done(fields);
  };
  return for_each_component(value, source, "pre_tokenizer", "pretokenizers", read);
}

} // namespace penstock::model
