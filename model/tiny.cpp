#include "model/tiny.hpp"

#include "base/rng.hpp"

#include <cmath>
#include <cstring>

namespace penstock::model {

namespace {

constexpr size_t line_bytes = sizeof(tiny_model::line);

size_t lines_for(const weight_slot& slot, dtype type) {
  const uint64_t bytes = slot.expected.element_count() * size_bytes_of(type);
  return static_cast<size_t>((bytes + line_bytes - 1) / line_bytes);
}

void store(std::byte* to, dtype type, float value) {
  if (type == dtype::f32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const uint16_t bits = type == dtype::f16 ? f32_to_f16(value) : f32_to_bf16(value);
  std::memcpy(to, &bits, sizeof bits);
}

// Norm weights lie around one. A matrix keeps the variance of what goes through it: uniform in
// +-sqrt(3 / inputs). The embedding is of order one.
void fill(const weight_slot& slot, dtype type, std::byte* to, uint64_t key) {
  const bool is_norm = slot.expected.rank() == 1;
  const bool is_embed = slot.name == "model.embed_tokens.weight";
  const double inputs = is_norm ? 1.0 : static_cast<double>(slot.expected[1]);
  const auto width = static_cast<float>(is_norm ? 0.25 : is_embed ? 1.0 : std::sqrt(3.0 / inputs));
  const float center = is_norm ? 1.0F : 0.0F;
  const uint64_t count = slot.expected.element_count();
  for (uint64_t i = 0; i < count; ++i)
    store(to + i * size_bytes_of(type), type, center + width * (2.0F * random_unit(key, i) - 1.0F));
}

} // namespace

model_config tiny_config() {
  model_config config;
  config.hidden = 64;
  config.intermediate = 160;
  config.layers = 2;
  config.heads = 4;
  config.kv_heads = 2;
  config.head_dim = 16;
  config.vocab = 256;
  config.context = 512;
  config.rms_eps = 1e-5F;
  config.bos = 1;
  config.eos = {2};
  return config;
}

tiny_model make_tiny(const model_config& config, dtype type, uint64_t seed) {
  tiny_model out;
  out.config = config;
  const auto slots = weight_slots(config, out.weights);
  size_t lines = 0;
  for (const weight_slot& slot : slots)
    lines += lines_for(slot, type);
  out.storage.resize(lines);
  size_t at = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    std::byte* data = out.storage[at].bytes;
    fill(slots[i], type, data, mix64(seed) ^ i);
    *slots[i].view = tensor_view{data, type, slots[i].expected};
    at += lines_for(slots[i], type);
  }
  if (config.tie_embeddings)
    out.weights.lm_head = out.weights.embed;
  return out;
}

} // namespace penstock::model
