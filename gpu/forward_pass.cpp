#include "gpu/forward_pass.hpp"

#include "base/check.hpp"
#include "gpu/elementary.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::gpu {

namespace {

/// Tokens per part of the row-wise operations: a part is some microseconds of work.
constexpr uint32_t part_tokens = 8;
/// Tokens per part of attention.
constexpr uint32_t attention_part_tokens = 32;
/// Multiply-adds below which a product is not worth waking another thread.
constexpr size_t product_part_work = size_t{1} << 17U;

/// Floats per token of each activation, padded as a product writes them.
struct widths {
  size_t hidden;
  size_t qkv;
  size_t mixed;
  size_t gate_up;
  explicit widths(const model::model_config& c)
    : hidden(padded(c.hidden)), qkv(padded(size_t{c.heads + 2 * c.kv_heads} * c.head_dim)),
      mixed(size_t{c.heads} * c.head_dim), gate_up(padded(size_t{2} * c.intermediate)) {}
};

uint32_t parts_for(uint32_t count, uint32_t each) {
  return (count + each - 1) / each;
}

} // namespace

forward_pass::forward_pass(const model::model_config& config, const host_weights& weights,
                           const kernel_table& kernels, thread_team& team, const kv_layout& layout,
                           std::span<std::byte> pool, forward_limits at_most)
  : config_(config), weights_(weights), kernels_(kernels), team_(team), layout_(layout),
    pool_(pool), at_most_(at_most), frequencies_(rotary_frequencies(config)),
    scale_(1.0F / std::sqrt(static_cast<float>(config.head_dim))) {
  PS_CHECK(layout.dtype == kv_dtype::f32);
  PS_CHECK(layout.block_tokens % limits::block_tokens_multiple == 0);
  PS_CHECK(pool.size() >= layout.pool_bytes());
  PS_CHECK(reinterpret_cast<uintptr_t>(pool.data()) % alignof(float) == 0);
  const widths width{config};
  const size_t tokens = at_most.tokens_max;
  x_.resize(tokens * width.hidden);
  normed_.resize(std::max<size_t>(tokens, at_most.rows_max) * width.hidden);
  added_.resize(tokens * width.hidden);
  qkv_.resize(tokens * width.qkv);
  mixed_.resize(tokens * width.mixed);
  gate_up_.resize(tokens * width.gate_up);
  cosine_.resize(tokens * frequencies_.size());
  sine_.resize(tokens * frequencies_.size());
  logits_.resize(at_most.rows_max * padded(config.vocab));
  scratch_.resize(team.size() * attention_scratch_floats(config.head_dim));
}

size_t forward_pass::bytes_for(const model::model_config& config, forward_limits at_most,
                               uint32_t workers) {
  const widths width{config};
  const size_t per_token
    = 3 * width.hidden + width.qkv + width.mixed + width.gate_up + config.head_dim;
  const size_t floats = at_most.tokens_max * per_token
                        + at_most.rows_max * (padded(config.vocab) + width.hidden)
                        + workers * attention_scratch_floats(config.head_dim);
  return floats * sizeof(float);
}

std::span<const float> forward_pass::logits(uint32_t index) const {
  PS_CHECK(index < at_most_.rows_max);
  return {logits_.data() + index * padded(config_.vocab), config_.vocab};
}

float* forward_pass::piece(uint32_t layer, uint32_t block) {
  return reinterpret_cast<float*>(pool_.data() + layout_.piece_offset(layer, block));
}

void forward_pass::run(std::span<const forward_row> rows) {
  plan(rows);
  embed(rows);
  for (uint32_t layer = 0; layer < config_.layers; ++layer)
    run_layer(layer, rows);
  project_logits(rows);
}

void forward_pass::plan(std::span<const forward_row> rows) {
  tokens_ = 0;
  any_logits_ = false;
  row_of_.clear();
  first_token_of_.clear();
  attention_parts_.clear();
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const auto count = static_cast<uint32_t>(rows[row].tokens.size());
    PS_CHECK(count > 0);
    PS_CHECK(rows[row].blocks.size() >= layout_.blocks_for(rows[row].position + count));
    any_logits_ = any_logits_ || rows[row].wants_logits;
    first_token_of_.push_back(tokens_);
    row_of_.insert(row_of_.end(), count, row);
    for (uint32_t head = 0; head < config_.kv_heads; ++head)
      for (uint32_t at = 0; at < count; at += attention_part_tokens)
        attention_parts_.push_back(
          {row, tokens_ + at, std::min(attention_part_tokens, count - at), head});
    tokens_ += count;
  }
  PS_CHECK(tokens_ <= at_most_.tokens_max);
  // Later tokens of a chunk have more keys: the longest parts first, so that no worker ends last.
  std::reverse(attention_parts_.begin(), attention_parts_.end());
}

template <class Op>
void forward_pass::for_tokens(const Op& op) {
  team_.run(parts_for(tokens_, part_tokens), [&](uint32_t part, uint32_t) {
    const uint32_t end = std::min(tokens_, (part + 1) * part_tokens);
    for (uint32_t token = part * part_tokens; token < end; ++token)
      op(token);
  });
}

void forward_pass::embed(std::span<const forward_row> rows) {
  const widths width{config_};
  const size_t half = frequencies_.size();
  for_tokens([&](uint32_t token) {
    const auto& row = rows[row_of_[token]];
    const uint32_t index = token - first_token_of_[row_of_[token]];
    const token_id id = row.tokens[index];
    PS_CHECK(id < config_.vocab);
    model::widen(weights_.embedding(), uint64_t{id} * config_.hidden,
                 {x_.data() + token * width.hidden, config_.hidden});
    rotary_row(frequencies_, row.position + index, cosine_.data() + token * half,
               sine_.data() + token * half);
  });
}

void forward_pass::multiply(const packed_matrix& matrix, const std::vector<float>& in,
                            size_t in_stride, uint32_t rows, std::vector<float>& out) {
  product_args args;
  args.x = in.data();
  args.x_stride = in_stride;
  args.rows = rows;
  args.weights = matrix.data();
  args.dtype = matrix.dtype();
  args.depth = matrix.depth();
  args.out = out.data();
  args.out_stride = padded(matrix.rows());
  const size_t work = size_t{rows} * matrix.depth() * matrix.rows();
  const auto wanted = static_cast<uint32_t>(
    std::min<size_t>(work / product_part_work + 1, size_t{4} * team_.size()));
  const uint32_t parts = team_.size() == 1 ? 1 : std::min(wanted, matrix.panels());
  const auto panel_at = [&](uint32_t part) {
    return static_cast<uint32_t>(uint64_t{matrix.panels()} * part / parts);
  };
  const auto multiply_part = [&](uint32_t part, uint32_t) {
    product_args mine = args;
    mine.panel_begin = panel_at(part);
    mine.panel_end = panel_at(part + 1);
    kernels_.product(mine);
  };
  team_.run(parts, multiply_part);
}

void forward_pass::run_layer(uint32_t index, std::span<const forward_row> rows) {
  const widths width{config_};
  const auto& layer = weights_.layers()[index];
  for_tokens([&](uint32_t token) {
    kernels_.rmsnorm(normed_.data() + token * width.hidden, x_.data() + token * width.hidden,
                     layer.attn_norm.data(), config_.hidden, config_.rms_eps);
  });
  multiply(layer.qkv, normed_, width.hidden, tokens_, qkv_);
  for_tokens([&](uint32_t token) {
    kernels_.rope(qkv_.data() + token * width.qkv, config_.heads + config_.kv_heads,
                  config_.head_dim, cosine_.data() + token * frequencies_.size(),
                  sine_.data() + token * frequencies_.size());
    write_kv(index, token, rows);
  });
  if (index + 1 == config_.layers && !any_logits_)
    return; // The KV is all that was asked for.
  attend(index, rows);
  run_mlp(layer);
}

void forward_pass::run_mlp(const host_layer& layer) {
  const widths width{config_};
  const uint32_t inner = config_.intermediate;
  multiply(layer.o, mixed_, width.mixed, tokens_, added_);
  for_tokens([&](uint32_t token) {
    float* x = x_.data() + token * width.hidden;
    kernels_.add(x, added_.data() + token * width.hidden, config_.hidden);
    kernels_.rmsnorm(normed_.data() + token * width.hidden, x, layer.mlp_norm.data(),
                     config_.hidden, config_.rms_eps);
  });
  multiply(layer.gate_up, normed_, width.hidden, tokens_, gate_up_);
  for_tokens([&](uint32_t token) {
    float* gate = gate_up_.data() + token * width.gate_up;
    kernels_.silu_mul(gate, gate, gate + inner, inner);
  });
  multiply(layer.down, gate_up_, width.gate_up, tokens_, added_);
  for_tokens([&](uint32_t token) {
    kernels_.add(x_.data() + token * width.hidden, added_.data() + token * width.hidden,
                 config_.hidden);
  });
}

void forward_pass::write_kv(uint32_t layer, uint32_t token, std::span<const forward_row> rows) {
  const auto& row = rows[row_of_[token]];
  const uint32_t position = row.position + token - first_token_of_[row_of_[token]];
  const uint32_t inside = position % layout_.block_tokens;
  const uint32_t head_dim = config_.head_dim;
  float* keys = piece(layer, row.blocks[position / layout_.block_tokens]);
  float* values = keys + layout_.half_bytes() / sizeof(float);
  const float* k = qkv_.data() + token * widths{config_}.qkv + size_t{config_.heads} * head_dim;
  const float* v = k + size_t{config_.kv_heads} * head_dim;
  for (uint32_t head = 0; head < config_.kv_heads; ++head) {
    float* column = keys + layout_.key_index(head, inside, 0);
    for (uint32_t d = 0; d < head_dim; ++d)
      column[size_t{d} * limits::block_tokens_multiple] = k[size_t{head} * head_dim + d];
    std::copy_n(v + size_t{head} * head_dim, head_dim,
                values + layout_.value_index(head, inside, 0));
  }
}

void forward_pass::attend(uint32_t layer, std::span<const forward_row> rows) {
  const widths width{config_};
  const auto parts = static_cast<uint32_t>(attention_parts_.size());
  team_.run(parts, [&](uint32_t index, uint32_t worker) {
    const auto& part = attention_parts_[index];
    const auto& row = rows[part.row];
    attention_args args;
    args.query = qkv_.data() + part.first * width.qkv;
    args.query_stride = width.qkv;
    args.out = mixed_.data() + part.first * width.mixed;
    args.out_stride = width.mixed;
    args.tokens = part.count;
    args.first_position = row.position + part.first - first_token_of_[part.row];
    args.group = config_.heads / config_.kv_heads;
    args.query_head = part.key_head * args.group;
    args.key_head = part.key_head;
    args.head_dim = config_.head_dim;
    args.scale = scale_;
    args.layer = piece(layer, 0);
    args.piece_floats = layout_.piece_bytes() / sizeof(float);
    args.block_tokens = layout_.block_tokens;
    args.blocks = row.blocks.data();
    args.scratch = scratch_.data() + worker * attention_scratch_floats(config_.head_dim);
    kernels_.attention(args);
  });
}

void forward_pass::project_logits(std::span<const forward_row> rows) {
  const widths width{config_};
  uint32_t wanted = 0;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].wants_logits)
      continue;
    PS_CHECK(wanted < at_most_.rows_max);
    const size_t last = first_token_of_[row] + rows[row].tokens.size() - 1;
    kernels_.rmsnorm(normed_.data() + wanted * width.hidden, x_.data() + last * width.hidden,
                     weights_.final_norm().data(), config_.hidden, config_.rms_eps);
    ++wanted;
  }
  multiply(weights_.head(), normed_, width.hidden, wanted, logits_);
}

} // namespace penstock::gpu
