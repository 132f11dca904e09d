#include "actors/decode_batch.hpp"

#include <algorithm>

namespace penstock::actors {

decode_batch::decode_batch(uint32_t row_slots, uint32_t context_max, gpu::prefix_cache& cache)
  : context_max_(context_max), cache_(cache) {
  PS_CHECK(row_slots > 0);
  PS_CHECK(context_max > 1);
  for (uint32_t slot = row_slots; slot > 0; --slot)
    free_slots_.push_back(slot - 1);
}

void decode_batch::add(decode_row row) {
  PS_CHECK(has_slot());
  PS_CHECK(!row.tokens.empty());
  auto fed = static_cast<uint32_t>(row.tokens.size());
  PS_CHECK(fed >= row.prompt_tokens && fed < context_max_);
  auto generated_before = fed - row.prompt_tokens;
  PS_CHECK(generated_before < row.sampling.tokens_max);
  auto allowed = std::min(row.sampling.tokens_max - generated_before, context_max_ - fed);
  auto key = row.key;
  auto ends = ends_of(row.sampling, row.end_ids);
  auto [at, fresh] = rows_.try_emplace(
    key, running{std::move(row), std::move(ends), {}, free_slots_.back(), 0, 0, allowed, 0, false});
  PS_CHECK(fresh);
  free_slots_.pop_back();
}

void decode_batch::drop(const work_key& key) {
  auto at = rows_.find(key);
  if (at == rows_.end())
    return;
  at->second.over = true;
  remove_if_quiet(at);
}

void decode_batch::remove_if_quiet(std::map<work_key, running>::iterator row) {
  if (!row->second.over || row->second.steps_out > 0)
    return;
  free_slots_.push_back(row->second.slot);
  rows_.erase(row);
}

gpu::row_run decode_batch::run_of(const running& row) const {
  const auto& what = row.what;
  auto known = static_cast<uint32_t>(what.tokens.size());
  gpu::row_run run;
  run.slot = row.slot;
  run.position = known - 1 + row.issued;
  auto blocks = what.lease.blocks();
  run.blocks.assign(blocks.begin(), blocks.end());
  run.sample = true;
  run.rules = gpu::rules_of(what.sampling);
  if (row.issued == 0) {
    run.tokens = {what.tokens.back()};
    if (run.rules.repetition_penalty != 1.0F)
      run.seen = what.tokens;
  }
  if (known - what.prompt_tokens + row.issued < what.sampling.tokens_min)
    run.barred = row.ends;
  return run;
}

gpu::step decode_batch::plan(uint64_t number) {
  gpu::step next{number, {}};
  std::vector<work_key> named;
  for (auto& [key, row] : rows_) {
    if (row.over || row.issued == row.allowed)
      continue;
    next.rows.push_back(run_of(row));
    ++row.issued;
    ++row.steps_out;
    named.push_back(key);
  }
  if (!named.empty())
    steps_out_.push_back(std::move(named));
  return next;
}

void decode_batch::remember(const running& row) {
  // Each token was fed to sample the next, so only the last one's KV may be missing.
  auto tokens = row.what.tokens;
  tokens.insert(tokens.end(), row.generated.begin(), row.generated.end());
  tokens.pop_back();
  tokens.resize(std::min<size_t>(tokens.size(), row.what.cache_tokens_max));
  cache_.insert(tokens, row.what.lease.blocks(), row.what.cache_scope);
}

decode_batch::progress decode_batch::take(running& row, const generated_token& token) {
  const auto& what = row.what;
  auto before = static_cast<uint32_t>(what.tokens.size()) - what.prompt_tokens;
  progress p{what.key, before + row.received, {}, false, finish_reason::stop};
  ++row.received;
  bool is_end = std::find(row.ends.begin(), row.ends.end(), token.id) != row.ends.end();
  if (!is_end) {
    p.generated.push_back(token);
    row.generated.push_back(token.id);
  }
  if (is_end || row.received == row.allowed) {
    p.finished = true;
    p.reason = is_end ? finish_reason::stop : finish_reason::length;
    row.over = true;
    remember(row);
  }
  return p;
}

std::vector<decode_batch::progress> decode_batch::apply(const gpu::step_output& output) {
  PS_CHECK(!steps_out_.empty());
  auto named = std::move(steps_out_.front());
  steps_out_.erase(steps_out_.begin());
  std::vector<progress> all;
  for (size_t i = 0; i < named.size(); ++i) {
    auto at = rows_.find(named[i]);
    PS_CHECK(at != rows_.end()); // Rows stay until no step names them.
    --at->second.steps_out;
    if (output.code == errc::ok) {
      PS_CHECK(i < output.sampled.size() && output.sampled[i].slot == at->second.slot);
      if (at->second.over)
        ++discarded_;
      else
        all.push_back(take(at->second, output.sampled[i].token));
    }
    remove_if_quiet(at);
  }
  return all;
}

std::vector<work_key> decode_batch::late(time_us now) const {
  std::vector<work_key> found;
  for (const auto& [key, row] : rows_)
    if (!row.over && row.what.deadline <= now)
      found.push_back(key);
  return found;
}

uint32_t decode_batch::running_count() const noexcept {
  return static_cast<uint32_t>(
    std::count_if(rows_.begin(), rows_.end(), [](const auto& r) { return !r.second.over; }));
}

} // namespace penstock::actors
