#include "model/config.hpp"

#include "base/limits.hpp"
#include "model/json_fields.hpp"

#include <array>

namespace penstock::model {

namespace {

constexpr uint32_t hidden_max = 1U << 16U;
constexpr uint32_t intermediate_max = 1U << 20U;
constexpr uint32_t layers_max = 1024;
constexpr uint32_t heads_max = 1024;
constexpr uint32_t head_dim_max = 1024;
constexpr uint32_t vocab_max = 1U << 22U;
constexpr size_t eos_count_max = 64;

error unsupported(const json_fields& fields, std::string_view key, const std::string& what) {
  error e = json_error(fields.source(), key, what);
  e.code = errc::unsupported;
  return e;
}

std::string found(const json* value) {
  return "found " + (value != nullptr ? json_excerpt(*value) : std::string{"nothing"});
}

// A network that is not plain Llama would load and then write nonsense: refuse what says so.
void check_family(json_fields& fields, model_config& config) {
  config.model_type = fields.text("model_type", "");
  if (config.model_type != "llama" && config.model_type != "mistral")
    fields.fail(unsupported(fields, "model_type",
                            found(fields.find("model_type"))
                              + ", this build computes: \"llama\", \"mistral\""));
  const std::string activation = fields.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    fields.fail(unsupported(fields, "hidden_act",
                            found(fields.find("hidden_act")) + ", this build computes: \"silu\""));
  for (const char* key : {"attention_bias", "mlp_bias"})
    if (fields.boolean(key, false))
      fields.fail(unsupported(fields, key, "found true; layers with a bias are not computed yet"));
  if (fields.find("quantization_config") != nullptr)
    fields.fail(unsupported(fields, "quantization_config",
                            "quantized checkpoints are not read yet; use one in F32, F16 or BF16"));
  if (fields.number("partial_rotary_factor", 0.0, 1.0, 1.0F) != 1.0F)
    fields.fail(unsupported(fields, "partial_rotary_factor",
                            found(fields.find("partial_rotary_factor")) + ", allowed: 1"));
}

void read_shape(json_fields& fields, model_config& config) {
  config.hidden = fields.integer("hidden_size", 1, hidden_max);
  config.intermediate = fields.integer("intermediate_size", 1, intermediate_max);
  config.layers = fields.integer("num_hidden_layers", 1, layers_max);
  config.heads = fields.integer("num_attention_heads", 1, heads_max);
  config.kv_heads = fields.integer("num_key_value_heads", 1, heads_max, config.heads);
  config.vocab = fields.integer("vocab_size", 1, vocab_max);
  config.context = fields.integer("max_position_embeddings", 1, limits::context_tokens_max);
  if (!fields.ok())
    return;
  if (config.heads % config.kv_heads != 0)
    fields.fail("num_key_value_heads",
                "a divisor of num_attention_heads, " + std::to_string(config.heads));
  const bool has_head_dim = fields.find("head_dim") != nullptr;
  if (!has_head_dim && config.hidden % config.heads != 0)
    fields.fail("num_attention_heads", "a divisor of hidden_size, " + std::to_string(config.hidden)
                                         + ", unless head_dim is given");
  config.head_dim = fields.integer("head_dim", 1, head_dim_max, config.hidden / config.heads);
  if (config.head_dim % 2 != 0 || config.head_dim > head_dim_max || config.head_dim == 0)
    fields.fail(has_head_dim ? "head_dim" : "num_attention_heads",
                "a head dimension (" + std::to_string(config.head_dim)
                  + ") that is even and from 2 to " + std::to_string(head_dim_max));
  const json* window = fields.find("sliding_window");
  if (window != nullptr && fields.integer("sliding_window", 1, ~uint32_t{0}) < config.context)
    fields.fail(
      unsupported(fields, "sliding_window",
                  found(window) + "; a window below max_position_embeddings is not computed yet"));
}

rope_scaling_llama3 read_llama3(json_fields& fields, uint32_t context) {
  rope_scaling_llama3 out;
  out.factor = fields.number("factor", 1.0, 1e6);
  out.low_freq_factor = fields.number("low_freq_factor", 1e-6, 1e6);
  out.high_freq_factor = fields.number("high_freq_factor", 1e-6, 1e6);
  out.original_context
    = fields.integer("original_max_position_embeddings", 1, limits::context_tokens_max, context);
  if (fields.ok() && out.low_freq_factor >= out.high_freq_factor)
    fields.fail("low_freq_factor", "a number below high_freq_factor");
  return out;
}

// Newer files keep theta and scaling together in `rope_parameters`.
void read_rope(json_fields& fields, model_config& config) {
  config.rope_theta = fields.number("rope_theta", 1.0, 1e12, config.rope_theta);
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const json* value = fields.find(key);
    if (value == nullptr)
      continue;
    if (!value->is_object()) {
      fields.fail(key, "null or an object");
      return;
    }
    json_fields inner{*value, fields.source() + ": " + std::string{key}};
    config.rope_theta = inner.number("rope_theta", 1.0, 1e12, config.rope_theta);
    const std::string type = inner.text("rope_type", inner.text("type", "missing"));
    if (type == "llama3")
      config.rope_scaling = read_llama3(inner, config.context);
    else if (type != "default")
      inner.fail(unsupported(inner, "rope_type",
                             "found \"" + type.substr(0, 40)
                               + "\", this build computes: \"llama3\", \"default\""));
    if (!inner.ok())
      fields.fail(inner.err());
  }
}

void read_special_ids(json_fields& fields, model_config& config) {
  if (fields.find("bos_token_id") != nullptr)
    config.bos = fields.integer("bos_token_id", 0, config.vocab - 1);
  const json* eos = fields.find("eos_token_id");
  if (eos == nullptr)
    return;
  config.eos.clear();
  if (!eos->is_array()) {
    config.eos.push_back(fields.integer("eos_token_id", 0, config.vocab - 1));
    return;
  }
  for (const json& id : *eos) {
    if (config.eos.size() == eos_count_max || !id.is_number_unsigned()
        || id.get<uint64_t>() >= config.vocab) {
      fields.fail("eos_token_id", "an integer, or a list of at most "
                                    + std::to_string(eos_count_max) + ", from 0 to "
                                    + std::to_string(config.vocab - 1));
      return;
    }
    config.eos.push_back(id.get<token_id>());
  }
}

} // namespace

result<model_config> parse_config(std::span<const std::byte> bytes, std::string_view source) {
  if (bytes.size() > config_bytes_max)
    return error{errc::malformed, std::string{source} + ": " + std::to_string(bytes.size())
                                    + " bytes, allowed are at most "
                                    + std::to_string(config_bytes_max)};
  auto document = parse_json(bytes, source);
  if (!document)
    return document.err();
  json_fields fields{*document, source};
  model_config config;
  check_family(fields, config);
  read_shape(fields, config);
  if (fields.ok())
    read_rope(fields, config);
  config.rms_eps = fields.number("rms_norm_eps", 1e-30, 1.0, config.rms_eps);
  config.tie_embeddings = fields.boolean("tie_word_embeddings", false);
  if (fields.ok())
    read_special_ids(fields, config);
  if (!fields.ok())
    return fields.err();
  return config;
}

result<void> parse_generation_config(std::span<const std::byte> bytes, std::string_view source,
                                     model_config& config) {
  if (bytes.size() > config_bytes_max)
    return error{errc::malformed, std::string{source} + ": larger than "
                                    + std::to_string(config_bytes_max) + " bytes"};
  auto document = parse_json(bytes, source);
  if (!document)
    return document.err();
  json_fields fields{*document, source};
  model_config changed = config;
  read_special_ids(fields, changed);
  if (!fields.ok())
    return fields.err();
  config = changed;
  return {};
}

std::string config_json_text(const model_config& config) {
  json out = {{"architectures", {"LlamaForCausalLM"}},
              {"model_type", config.model_type},
              {"hidden_act", "silu"},
              {"hidden_size", config.hidden},
              {"intermediate_size", config.intermediate},
              {"num_hidden_layers", config.layers},
              {"num_attention_heads", config.heads},
              {"num_key_value_heads", config.kv_heads},
              {"head_dim", config.head_dim},
              {"vocab_size", config.vocab},
              {"max_position_embeddings", config.context},
              {"rope_theta", config.rope_theta},
              {"rms_norm_eps", config.rms_eps},
              {"tie_word_embeddings", config.tie_embeddings},
              {"eos_token_id", config.eos}};
  if (config.bos)
    out["bos_token_id"] = *config.bos;
  if (const auto& scaling = config.rope_scaling)
    out["rope_scaling"] = {{"rope_type", "llama3"},
                           {"factor", scaling->factor},
                           {"low_freq_factor", scaling->low_freq_factor},
                           {"high_freq_factor", scaling->high_freq_factor},
                           {"original_max_position_embeddings", scaling->original_context}};
  return out.dump(2) + "\n";
}

} // namespace penstock::model
