#include "model/tokenizer_json.hpp"
#include "model/utf8.hpp"

namespace penstock::model {

namespace {

constexpr size_t template_ids_max = 64;
constexpr size_t decoders_max = 64;

// Appends the ids that TemplateProcessing's `special_tokens` gives for `name`.
result<void> add_template_ids(const json& processor, const json& name, std::string_view source,
                              std::vector<token_id>& out) {
  const auto tokens = processor.find("special_tokens");
  if (name.is_string() && tokens != processor.end() && tokens->is_object()) {
    const auto token = tokens->find(name.get_ref<const std::string&>());
    if (token != tokens->end() && token->is_object() && token->contains("ids")
        && (*token)["ids"].is_array()) {
      for (const json& id : (*token)["ids"]) {
        if (!id.is_number_unsigned() || id.get<uint64_t>() >= tokenizer_vocab_max
            || out.size() == template_ids_max)
          return json_error(source, "post_processor.special_tokens",
                            "must hold ids, not more than 64 for a text");
        out.push_back(id.get<token_id>());
      }
      return {};
    }
  }
  return json_error(source, "post_processor.single",
                    json_excerpt(name) + " has no ids in special_tokens");
}

// Reads the template for one text: ids before it and after it.
result<void> read_template(const json& value, std::string_view source, tokenizer_spec& out) {
  const auto single = value.find("single");
  if (single == value.end() || !single->is_array())
    return json_error(source, "post_processor.single", "must be a list");
  bool text_seen = false;
  for (const json& part : *single) {
    if (part.is_object() && part.contains("Sequence") && !text_seen) {
      text_seen = true;
    } else if (part.is_object() && part.contains("SpecialToken") && part["SpecialToken"].is_object()
               && part["SpecialToken"].contains("id")) {
      if (auto added = add_template_ids(value, part["SpecialToken"]["id"], source,
                                        text_seen ? out.suffix : out.prefix);
          !added)
        return added;
    } else {
      return json_error(source, "post_processor.single",
                        "must hold special tokens and one Sequence, found " + json_excerpt(part));
    }
  }
  if (!text_seen)
    return json_error(source, "post_processor.single", "has no Sequence, so no text");
  return {};
}

// Reads one decoder after another and refuses an order that token_decoder does not have.
class decoder_reader {
public:
  decoder_reader(std::string_view source, decoder_spec& out) : source_(source), out_(out) {}

  result<void> read(const json& value) {
    const auto type = component_type(value, source_, "decoder");
    if (!type)
      return type.err();
    if (++count_ > decoders_max)
      return json_error(source_, "decoder", "has more than 64 components");
    json_fields fields{value, std::string{source_} + ": decoder " + *type};
    if (*type == "Sequence")
      return read_sequence(value);
    if (*type == "Fuse")
      fused_ = true;
    else if (*type == "Strip")
      return read_strip(fields);
    else if (fused_)
      return refuse(*type + " after Fuse is not supported");
    else if (*type == "ByteFallback")
      out_.byte_fallback = true;
    else if (*type == "ByteLevel")
      out_.byte_level = true;
    else if (*type == "Metaspace")
      return read_metaspace(fields);
    else if (*type == "Replace")
      return read_replace(value, fields);
    else
      return refuse("type \"" + type->substr(0, 80) + "\" is not known");
    return {};
  }

private:
  error refuse(const std::string& what) { return stage_unsupported(source_, "decoder", what); }

  result<void> read_sequence(const json& value) {
    const auto list = value.find("decoders");
    if (list == value.end() || !list->is_array())
      return json_error(source_, "decoder.decoders", "must be a list");
    for (const json& member : *list)
      if (auto done = read(member); !done)
        return done;
    return {};
  }

  result<void> read_replace(const json& value, json_fields& fields) {
    const auto pattern = value.find("pattern");
    const bool literal = pattern != value.end() && pattern->is_object()
                         && pattern->contains("String") && (*pattern)["String"].is_string()
                         && (*pattern)["String"] != "";
    if (!literal)
      return refuse("Replace needs a pattern {\"String\": text}");
    if (out_.byte_fallback || out_.byte_level || !out_.metaspace.empty())
      return refuse("Replace must come before ByteFallback, ByteLevel and Metaspace");
    out_.replace.emplace_back((*pattern)["String"].get<std::string>(), fields.text("content", ""));
    return fields.ok() ? result<void>{} : result<void>{fields.err()};
  }

  result<void> read_metaspace(json_fields& fields) {
    out_.metaspace = fields.text("replacement", "\xE2\x96\x81");
    const bool prefix = fields.boolean("add_prefix_space", true);
    out_.metaspace_first_dropped
      = fields.text("prepend_scheme", prefix ? "always" : "never") != "never";
    if (out_.metaspace.empty())
      fields.fail("replacement", "one character");
    return fields.ok() ? result<void>{} : result<void>{fields.err()};
  }

  // Streaming can drop what starts a text; what ends it is known only when it has ended.
  result<void> read_strip(json_fields& fields) {
    out_.strip = fields.text("content", " ");
    out_.strip_count_max = fields.integer("start", 0, 1024, 0);
    if (fields.integer("stop", 0, 1024, 0) != 0)
      return refuse("Strip with `stop` above 0 is not supported");
    if (!fused_)
      return refuse("Strip is supported after Fuse only");
    if (out_.strip.empty() || utf8_length_of(out_.strip[0]) != out_.strip.size())
      fields.fail("content", "one character");
    return fields.ok() ? result<void>{} : result<void>{fields.err()};
  }

  std::string_view source_;
  decoder_spec& out_;
  size_t count_ = 0;
  bool fused_ = false;
};

} // namespace

result<void> read_post_processor(const json& value, std::string_view source, tokenizer_spec& out) {
  const auto type = component_type(value, source, "post_processor");
  if (!type)
    return type.err();
  if (*type == "ByteLevel") // Moves offsets only, and we give none.
    return {};
  if (*type == "TemplateProcessing") {
    if (!out.prefix.empty() || !out.suffix.empty())
      return stage_unsupported(source, "post_processor", "two TemplateProcessing in one");
    return read_template(value, source, out);
  }
  if (*type != "Sequence")
    return stage_unsupported(source, "post_processor",
                             "type \"" + type->substr(0, 80) + "\" is not known");
  const auto list = value.find("processors");
  if (list == value.end() || !list->is_array())
    return json_error(source, "post_processor.processors", "must be a list");
  for (const json& member : *list)
    if (auto done = read_post_processor(member, source, out); !done)
      return done;
  return {};
}

result<void> read_decoder(const json& value, std::string_view source, decoder_spec& out) {
  return decoder_reader{source, out}.read(value);
}

} // namespace penstock::model
