#include "model/reference.hpp"

namespace penstock::model {

namespace {

void add_to(std::span<float> x, std::span<const float> y) {
  for (size_t i = 0; i < x.size(); ++i)
    x[i] += y[i];
}

} // namespace

reference_state::reference_state(const model_config& config, const weights& w)
  : config_(config), weights_(w), frequencies_(rope_frequencies(config)), cache_(config.layers),
    x_(config.hidden) {}

void reference_state::feed(token_id id) {
  PS_CHECK(id < config_.vocab && position_ < config_.context);
  widen(weights_.embed, uint64_t{id} * config_.hidden, x_);
  for (uint32_t i = 0; i < config_.layers; ++i) {
    attend(weights_.layers[i], cache_[i]);
    feed_forward(weights_.layers[i]);
  }
  ++position_;
}

void reference_state::attend(const layer_weights& layer, layer_cache& cache) {
  const size_t q_width = size_t{config_.heads} * config_.head_dim;
  const size_t kv_width = size_t{config_.kv_heads} * config_.head_dim;
  std::vector<float> normed(config_.hidden);
  std::vector<float> q(q_width);
  std::vector<float> k(kv_width);
  std::vector<float> v(kv_width);
  rmsnorm_ref(normed, x_, layer.attn_norm, config_.rms_eps);
  matmul_ref(q, normed, layer.q);
  matmul_ref(k, normed, layer.k);
  matmul_ref(v, normed, layer.v);
  rope_ref(q, position_, frequencies_);
  rope_ref(k, position_, frequencies_);
  cache.keys.insert(cache.keys.end(), k.begin(), k.end());
  cache.values.insert(cache.values.end(), v.begin(), v.end());
  std::vector<float> mixed(q_width);
  attention_ref(mixed, q, cache.keys, cache.values, config_.kv_heads, config_.head_dim);
  matmul_ref(normed, mixed, layer.o);
  add_to(x_, normed);
}

void reference_state::feed_forward(const layer_weights& layer) {
  std::vector<float> normed(config_.hidden);
  std::vector<float> gate(config_.intermediate);
  std::vector<float> up(config_.intermediate);
  rmsnorm_ref(normed, x_, layer.mlp_norm, config_.rms_eps);
  matmul_ref(gate, normed, layer.gate);
  matmul_ref(up, normed, layer.up);
  silu_mul_ref(gate, gate, up);
  matmul_ref(normed, gate, layer.down);
  add_to(x_, normed);
}

std::vector<float> reference_state::logits() const {
  PS_CHECK(position_ > 0);
  std::vector<float> normed(config_.hidden);
  rmsnorm_ref(normed, x_, weights_.final_norm, config_.rms_eps);
  std::vector<float> out(config_.vocab);
  matmul_ref(out, normed, weights_.lm_head);
  return out;
}

std::vector<float> reference_logits(const model_config& config, const weights& w,
                                    std::span<const token_id> ids) {
  reference_state state{config, w};
  std::vector<float> out;
  out.reserve(ids.size() * config.vocab);
  for (const token_id id : ids) {
    state.feed(id);
    const auto row = state.logits();
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

std::vector<float> reference_last_logits(const model_config& config, const weights& w,
                                         std::span<const token_id> ids) {
  reference_state state{config, w};
  for (const token_id id : ids)
    state.feed(id);
  return state.logits();
}

} // namespace penstock::model
