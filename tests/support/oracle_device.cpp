#include "tests/support/oracle_device.hpp"

#include "base/rng.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::gpu {

namespace {

constexpr uint64_t chain_start = 0x5EED0FACE5ULL;

/// The hash a token's KV in a layer stands for.
uint64_t chained(uint64_t before, token_id token, uint32_t position, uint32_t layer) {
  return mix64(before ^ mix64((uint64_t{position} << 32U) ^ token) ^ (uint64_t{layer} << 56U));
}

/// Elements per token and layer: K's, then V's.
uint32_t elements_of(const oracle_rules& rules) {
  return 2 * rules.kv_heads * rules.head_dim;
}

/// What element `index` of a token's KV holds. The first two are the hash itself.
uint32_t element_of(uint64_t hash, uint32_t index) {
  if (index == 0)
    return static_cast<uint32_t>(hash);
  if (index == 1)
    return static_cast<uint32_t>(hash >> 32U);
  return static_cast<uint32_t>(random_bits(hash, index));
}

uint64_t folded(uint64_t fold, uint32_t element) {
  return mix64(fold ^ element);
}

/// @param position Of the token being sampled.
/// @param draw Every one of its fields matters, each in its own way; top_logprobs only to `top`.
/// @param seen Ascending; matters if there is a repetition penalty.
generated_token token_of(const oracle_rules& rules, uint64_t fold, const draw_rules& draw,
                         uint32_t position, std::span<const token_id> seen,
                         std::span<const token_id> barred) {
  if (draw.repetition_penalty != 1.0F) {
    fold = mix64(fold ^ std::bit_cast<uint32_t>(draw.repetition_penalty));
    for (const token_id id : seen)
      fold = mix64(fold ^ id);
  }
  if (draw.temperature > 0.0F) {
    fold = mix64(fold ^ random_bits(draw.seed, position));
    fold = mix64(fold ^ draw.top_k);
    fold = mix64(fold ^ std::bit_cast<uint32_t>(draw.top_p));
    fold = mix64(fold ^ std::bit_cast<uint32_t>(draw.min_p));
  }
  generated_token out;
  out.id = 3 + static_cast<token_id>(fold % (rules.vocab - 3));
  if (rules.end_every > 0 && (fold >> 32U) % rules.end_every == 0)
    out.id = rules.end;
  while (std::find(barred.begin(), barred.end(), out.id) != barred.end()) {
    fold = mix64(fold);
    out.id = 3 + static_cast<token_id>(fold % (rules.vocab - 3));
  }
  out.logprob = -random_unit(fold, 1);
  float logprob = 0.0F;
  for (uint32_t i = 0; i < std::min(draw.top_logprobs, rules.vocab); ++i) {
    logprob -= random_unit(fold, 2 + i);
    out.top.push_back({static_cast<token_id>((fold + i) % rules.vocab), logprob});
  }
  return out;
}

} // namespace

kv_layout oracle_layout(const oracle_rules& rules, uint32_t blocks) {
  return {rules.layers, rules.kv_heads, rules.head_dim, rules.block_tokens, blocks, kv_dtype::f32};
}

generated_token oracle_next(const oracle_rules& rules, std::span<const token_id> tokens,
                            const sampling_params& sampling, std::span<const token_id> barred) {
  PS_CHECK(!tokens.empty());
  std::vector<uint64_t> hashes(rules.layers, chain_start);
  uint64_t fold = 0;
  for (uint32_t position = 0; position < tokens.size(); ++position)
    for (uint32_t layer = 0; layer < rules.layers; ++layer) {
      hashes[layer] = chained(hashes[layer], tokens[position], position, layer);
      for (uint32_t i = 0; i < elements_of(rules); ++i)
        fold = folded(fold, element_of(hashes[layer], i));
    }
  seen_tokens seen;
  seen.restart(tokens);
  return token_of(rules, fold, rules_of(sampling), static_cast<uint32_t>(tokens.size()), seen.ids(),
                  barred);
}

std::vector<token_id> oracle_answer(const oracle_rules& rules, std::vector<token_id> prompt,
                                    const sampling_params& sampling) {
  std::vector<token_id> out;
  const auto ends = ends_of(sampling, {rules.end});
  while (out.size() < sampling.tokens_max) {
    const auto barred = out.size() < sampling.tokens_min ? std::span{ends} : std::span<token_id>{};
    const token_id next = oracle_next(rules, prompt, sampling, barred).id;
    if (std::find(ends.begin(), ends.end(), next) != ends.end())
      break;
    out.push_back(next);
    prompt.push_back(next);
  }
  return out;
}

oracle_device::oracle_device(const oracle_rules& rules, device_limits at_most, uint32_t blocks,
                             std::span<std::byte> pool)
  : rules_(rules), limits_(at_most), layout_(oracle_layout(rules, blocks)), pool_(pool),
    last_token_(at_most.row_slots), seen_(at_most.row_slots) {
  PS_CHECK(blocks > 0 && rules.vocab > 3 && rules.head_dim >= 2 && rules.layers > 0);
  if (pool_.empty()) {
    own_.resize(layout_.pool_bytes() / sizeof(uint32_t));
    pool_ = std::as_writable_bytes(std::span(own_));
  }
  PS_CHECK(pool_.size() >= layout_.pool_bytes());
}

void oracle_device::check(const step& work) const {
  uint64_t tokens = 0;
  for (auto row = work.rows.begin(); row != work.rows.end(); ++row) {
    PS_CHECK(row->slot < limits_.row_slots);
    for (auto other = work.rows.begin(); other != row; ++other)
      PS_CHECK(other->slot != row->slot);
    PS_CHECK(uint64_t{row->position} + row->count() <= limits_.context_max);
    PS_CHECK(row->blocks.size() >= layout_.blocks_for(row->position + row->count()));
    for (const uint32_t block : row->blocks)
      PS_CHECK(block < layout_.blocks);
    tokens += row->count();
  }
  PS_CHECK(tokens <= limits_.step_tokens_max);
}

void oracle_device::submit(step work, done_handler done) {
  check(work);
  PS_CHECK(waiting_.size() < limits::steps_queued_max);
  if (held_)
    waiting_.push_back({std::move(work), std::move(done)});
  else
    run({std::move(work), std::move(done)});
}

void oracle_device::hold(bool held) {
  PS_CHECK(waiting_.empty());
  held_ = held;
}

bool oracle_device::run_next() {
  if (waiting_.empty())
    return false;
  waiting_step next = std::move(waiting_.front());
  waiting_.pop_front();
  run(std::move(next));
  return true;
}

void oracle_device::run(waiting_step next) {
  step_output out;
  out.number = next.work.number;
  ++steps_run_;
  if (failure_) {
    out.code = errc::device_failed;
    out.detail = *std::exchange(failure_, std::nullopt);
    next.done(std::move(out));
    return;
  }
  for (const auto& row : next.work.rows) {
    feed(row);
    tokens_fed_ += row.count();
    out.compute_us += token_cost_us_ * row.count();
  }
  for (const auto& row : next.work.rows)
    if (row.sample) {
      if (!row.seen.empty())
        seen_[row.slot].restart(row.seen);
      const auto token = draw(row);
      last_token_[row.slot] = token.id;
      if (row.rules.repetition_penalty != 1.0F)
        seen_[row.slot].add(token.id);
      out.logits_hash = mix64(out.logits_hash ^ token.id);
      out.sampled.push_back({row.slot, token});
    }
  next.done(std::move(out));
}

size_t oracle_device::element_offset(const row_run& row, uint32_t layer, uint32_t position,
                                     uint32_t index) const {
  const uint32_t inside = position % layout_.block_tokens;
  const uint32_t half = layout_.kv_heads * layout_.head_dim;
  const uint32_t head = index % half / layout_.head_dim;
  const uint32_t dim = index % layout_.head_dim;
  const size_t element
    = index < half ? layout_.key_index(head, inside, dim) : layout_.value_index(head, inside, dim);
  return layout_.piece_offset(layer, row.blocks[position / layout_.block_tokens])
         + (index < half ? 0 : layout_.half_bytes()) + element * sizeof(uint32_t);
}

uint32_t oracle_device::read(size_t offset) const {
  uint32_t out = 0;
  std::memcpy(&out, pool_.data() + offset, sizeof out);
  return out;
}

void oracle_device::feed(const row_run& row) {
  PS_CHECK(!row.tokens.empty() || last_token_[row.slot]);
  for (uint32_t i = 0; i < row.count(); ++i) {
    const uint32_t position = row.position + i;
    const token_id token = row.tokens.empty() ? *last_token_[row.slot] : row.tokens[i];
    for (uint32_t layer = 0; layer < layout_.layers; ++layer) {
      uint64_t before = chain_start;
      if (position > 0)
        before = read(element_offset(row, layer, position - 1, 0))
                 | uint64_t{read(element_offset(row, layer, position - 1, 1))} << 32U;
      const uint64_t hash = chained(before, token, position, layer);
      for (uint32_t index = 0; index < elements_of(rules_); ++index) {
        const uint32_t element = element_of(hash, index);
        std::memcpy(pool_.data() + element_offset(row, layer, position, index), &element,
                    sizeof element);
      }
    }
  }
}

generated_token oracle_device::draw(const row_run& row) const {
  uint64_t fold = 0;
  const uint32_t end = row.position + row.count();
  for (uint32_t position = 0; position < end; ++position)
    for (uint32_t layer = 0; layer < layout_.layers; ++layer)
      for (uint32_t index = 0; index < elements_of(rules_); ++index)
        fold = folded(fold, read(element_offset(row, layer, position, index)));
  return token_of(rules_, fold, row.rules, end, seen_[row.slot].ids(), row.barred);
}

} // namespace penstock::gpu
