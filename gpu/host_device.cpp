#include "gpu/host_device.hpp"

#include "base/check.hpp"
#include "base/digest.hpp"
#include "base/rng.hpp"

#include <algorithm>

namespace penstock::gpu {

namespace {

constexpr token_id no_token = UINT32_MAX;
constexpr uint32_t threads_max = 256;
constexpr uint32_t row_slots_max = 65536;

forward_limits forward_limits_of(const host_options& options) {
  return {options.step_tokens_max, std::min(options.row_slots, options.step_tokens_max)};
}

error bad_option(const std::string& name, uint64_t found, const std::string& allowed) {
  return {errc::invalid_argument,
          "host device: " + name + " is " + std::to_string(found) + "; allowed: " + allowed};
}

} // namespace

result<void> check_options(const model::model_config& config, const host_options& options) {
  if (options.threads == 0 || options.threads > threads_max)
    return bad_option("threads", options.threads, "1 to " + std::to_string(threads_max));
  if (!options.cores.empty() && options.cores.size() != options.threads)
    return bad_option("the number of cores", options.cores.size(),
                      "none, or one per thread: " + std::to_string(options.threads));
  if (options.row_slots == 0 || options.row_slots > row_slots_max)
    return bad_option("row_slots", options.row_slots, "1 to " + std::to_string(row_slots_max));
  if (options.step_tokens_max == 0 || options.step_tokens_max > limits::context_tokens_max)
    return bad_option("step_tokens_max", options.step_tokens_max,
                      "1 to " + std::to_string(limits::context_tokens_max));
  if (options.context_max == 0 || options.context_max > config.context)
    return bad_option("context_max", options.context_max,
                      "1 to the model's context, " + std::to_string(config.context));
  if (options.block_tokens == 0 || options.block_tokens % limits::block_tokens_multiple != 0)
    return bad_option("block_tokens", options.block_tokens,
                      "multiples of " + std::to_string(limits::block_tokens_multiple));
  if (options.blocks == 0)
    return bad_option("blocks", options.blocks, "1 or more");
  if (options.kv != kv_dtype::f32)
    return error{errc::unsupported, "host device: the KV dtype must be f32"};
  return {};
}

kv_layout layout_of(const model::model_config& config, const host_options& options) {
  return {config.layers,        config.kv_heads, config.head_dim,
          options.block_tokens, options.blocks,  options.kv};
}

host_memory memory_of(const model::model_config& config, const model::weights& source,
                      const host_options& options) {
  host_memory out;
  out.weights = host_weights::bytes_for(config, source);
  out.kv = layout_of(config, options).pool_bytes();
  out.activations = forward_pass::bytes_for(config, forward_limits_of(options), options.threads)
                    + options.threads * sampling_scratch::bytes_for(config.vocab);
  return out;
}

host_device::host_device(const model::model_config& config, const model::weights& source,
                         const host_options& options, std::span<std::byte> pool,
                         const kernel_table& kernels, const clock& time)
  : config_(config), time_(time),
    kernels_(kernels), limits_{options.row_slots, options.step_tokens_max, options.context_max},
    layout_(layout_of(config, options)), pool_(pool), weights_(config_, source),
    team_(options.threads, options.cores),
    pass_(config_, weights_, kernels_, team_, layout_, pool_, forward_limits_of(options)),
    last_token_(options.row_slots, no_token), seen_(options.row_slots),
    sample_scratch_(options.threads, sampling_scratch{config.vocab}), idle_since_(time.now()) {
  PS_CHECK(check_options(config, options));
}

std::string host_device::numerics_id() const {
  return "n1;product=" + std::to_string(limits::product_block)
         + ";tile=" + std::to_string(limits::attention_tile_tokens) + ";kv=f32";
}

void host_device::check(const step& work) const {
  std::vector<bool> seen(limits_.row_slots, false);
  uint64_t tokens = 0;
  for (const auto& row : work.rows) {
    PS_CHECK(row.slot < limits_.row_slots);
    PS_CHECK(!seen[row.slot]);
    seen[row.slot] = true;
    PS_CHECK(!row.tokens.empty() || last_token_[row.slot] != no_token);
    PS_CHECK(!row.sample || row.rules.repetition_penalty == 1.0F || row.tokens.empty()
             || !row.seen.empty());
    PS_CHECK(uint64_t{row.position} + row.count() <= limits_.context_max);
    for (const uint32_t block : row.blocks)
      PS_CHECK(block < layout_.blocks);
    tokens += row.count();
  }
  PS_CHECK(tokens <= limits_.step_tokens_max);
}

void host_device::submit(step work, done_handler done) {
  check(work);
  const time_us started = time_.now();
  step_output out;
  out.number = work.number;
  out.idle_us = started - idle_since_;
  std::vector<forward_row> rows;
  rows.reserve(work.rows.size());
  for (const auto& row : work.rows) {
    const std::span<const token_id> tokens
      = row.tokens.empty() ? std::span(&last_token_[row.slot], 1) : std::span(row.tokens);
    rows.push_back({row.position, tokens, row.blocks, row.sample});
  }
  if (!rows.empty())
    pass_.run(rows);
  sample_rows(work, out);
  idle_since_ = time_.now();
  out.compute_us = idle_since_ - started;
  done(std::move(out));
}

void host_device::sample_rows(const step& work, step_output& out) {
  std::vector<const row_run*> wanted;
  for (const auto& row : work.rows)
    if (row.sample) {
      wanted.push_back(&row);
      if (!row.seen.empty())
        seen_[row.slot].restart(row.seen);
    }
  std::vector<result<generated_token>> drawn(wanted.size(), generated_token{});
  team_.run(static_cast<uint32_t>(wanted.size()), [&](uint32_t index, uint32_t worker) {
    const auto& row = *wanted[index];
    drawn[index]
      = sample(kernels_, pass_.logits(index), sample_scratch_[worker],
               {row.rules, row.position + row.count(), seen_[row.slot].ids(), row.barred});
  });
  for (uint32_t i = 0; i < wanted.size(); ++i) {
    out.logits_hash = mix64(out.logits_hash ^ digest64_of(std::as_bytes(pass_.logits(i))));
    if (!drawn[i]) {
      out.code = errc::device_failed;
      out.detail = "slot " + std::to_string(wanted[i]->slot) + ": " + drawn[i].err().detail;
      continue;
    }
    last_token_[wanted[i]->slot] = drawn[i]->id;
    if (wanted[i]->rules.repetition_penalty != 1.0F)
      seen_[wanted[i]->slot].add(drawn[i]->id);
    out.sampled.push_back({wanted[i]->slot, *drawn[i]});
  }
}

} // namespace penstock::gpu
