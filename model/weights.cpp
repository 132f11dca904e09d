#include "model/weights.hpp"

#include <algorithm>
#include <set>
#include <sstream>

namespace penstock::model {

namespace {

constexpr std::string_view embed_name = "model.embed_tokens.weight";
constexpr std::string_view head_name = "lm_head.weight";

// Old checkpoints store the rotary frequencies, which follow from the config.
bool is_ignorable(std::string_view name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

result<tensor_view> take(const tensor_set& tensors, std::string_view name, const shape& expected) {
  const safetensors_entry* entry = tensors.find(name);
  const std::string where = "tensor `" + std::string{name} + "`: ";
  if (entry == nullptr)
    return error{errc::malformed, where + "missing, expected with shape " + expected.text()};
  if (!entry->view)
    return error{errc::unsupported,
                 where + "stored as " + entry->dtype_name + ", this build computes F32, F16, BF16"};
  if (entry->view->dims != expected)
    return error{errc::malformed, where + "shape expected " + expected.text() + ", found "
                                    + entry->view->dims.text()};
  return *entry->view;
}

// An unknown tensor means that the network is not the one we would compute.
result<void> refuse_unknown(const std::vector<weight_slot>& slots, const tensor_set& tensors) {
  std::set<std::string_view> known{embed_name, head_name};
  for (const weight_slot& slot : slots)
    known.insert(slot.name);
  for (const auto& [name, entry] : tensors.entries())
    if (!known.contains(name) && !is_ignorable(name))
      return error{errc::unsupported,
                   "tensor `" + name.substr(0, 200)
                     + "`: not part of a Llama network with this config; the model is another "
                       "architecture or has more layers than config.json says"};
  return {};
}

} // namespace

std::vector<weight_slot> weight_slots(const model_config& config, weights& out) {
  const uint64_t hidden = config.hidden;
  const uint64_t q_width = uint64_t{config.heads} * config.head_dim;
  const uint64_t kv_width = uint64_t{config.kv_heads} * config.head_dim;
  out.layers.resize(config.layers);
  std::vector<weight_slot> slots;
  slots.push_back({std::string{embed_name}, {config.vocab, hidden}, &out.embed});
  for (uint32_t i = 0; i < config.layers; ++i) {
    layer_weights& layer = out.layers[i];
    const std::string at = "model.layers." + std::to_string(i) + ".";
    slots.push_back({at + "input_layernorm.weight", {hidden}, &layer.attn_norm});
    slots.push_back({at + "self_attn.q_proj.weight", {q_width, hidden}, &layer.q});
    slots.push_back({at + "self_attn.k_proj.weight", {kv_width, hidden}, &layer.k});
    slots.push_back({at + "self_attn.v_proj.weight", {kv_width, hidden}, &layer.v});
    slots.push_back({at + "self_attn.o_proj.weight", {hidden, q_width}, &layer.o});
    slots.push_back({at + "post_attention_layernorm.weight", {hidden}, &layer.mlp_norm});
    slots.push_back({at + "mlp.gate_proj.weight", {config.intermediate, hidden}, &layer.gate});
    slots.push_back({at + "mlp.up_proj.weight", {config.intermediate, hidden}, &layer.up});
    slots.push_back({at + "mlp.down_proj.weight", {hidden, config.intermediate}, &layer.down});
  }
  slots.push_back({"model.norm.weight", {hidden}, &out.final_norm});
  if (!config.tie_embeddings)
    slots.push_back({std::string{head_name}, {config.vocab, hidden}, &out.lm_head});
  return slots;
}

result<weights> bind_weights(const model_config& config, const tensor_set& tensors) {
  weights out;
  const auto slots = weight_slots(config, out);
  for (const weight_slot& slot : slots) {
    // Tied weights are one matrix under two names; writers keep either.
    std::string_view name = slot.name;
    if (config.tie_embeddings && name == embed_name && tensors.find(name) == nullptr
        && tensors.find(head_name) != nullptr)
      name = head_name;
    if (name == head_name && tensors.find(name) == nullptr) {
      out.lm_head = out.embed;
      continue;
    }
    auto view = take(tensors, name, slot.expected);
    if (!view)
      return view.err();
    *slot.view = *view;
  }
  if (config.tie_embeddings)
    out.lm_head = out.embed;
  if (auto known = refuse_unknown(slots, tensors); !known)
    return known.err();
  return out;
}

digest128 digest_of(const model_config& config, const weights& w) {
  std::ostringstream head;
  head << std::hexfloat << config.hidden << ' ' << config.intermediate << ' ' << config.layers
       << ' ' << config.heads << ' ' << config.kv_heads << ' ' << config.head_dim << ' '
       << config.vocab << ' ' << config.context << ' ' << config.rope_theta << ' '
       << config.rms_eps;
  if (const auto& scaling = config.rope_scaling)
    head << " llama3 " << scaling->factor << ' ' << scaling->low_freq_factor << ' '
         << scaling->high_freq_factor << ' ' << scaling->original_context;
  digest128 digest = digest128_of(std::string_view{head.str()});
  weights copy = w;
  model_config as_stored = config; // Tied in fact, whatever the flag says.
  as_stored.tie_embeddings = w.lm_head.data == w.embed.data;
  for (const weight_slot& slot : weight_slots(as_stored, copy)) {
    const std::string label
      = slot.name + " " + std::string{name_of(slot.view->type)} + " " + slot.view->dims.text();
    digest = combine(digest, digest128_of(std::string_view{label}));
    digest = combine(digest, digest128_of(slot.view->bytes()));
  }
  return digest;
}

} // namespace penstock::model
