#include "actors/prefill_queue.hpp"

#include <algorithm>

namespace penstock::actors {

prefill_queue::prefill_queue(options limits, gpu::block_pool& pool, gpu::prefix_cache& cache)
  : limits_(limits), pool_(pool), cache_(cache) {
  PS_CHECK(limits_.row_slots > 0 && limits_.step_tokens_max > 0 && limits_.block_tokens > 0);
  for (uint32_t slot = limits_.row_slots; slot > 0; --slot)
    free_slots_.push_back(slot - 1);
}

result<void> prefill_queue::add(prefill_work work) {
  if (work.tokens.size() <= work.skip)
    return error{errc::invalid_argument, "nothing to prefill"};
  auto blocks = (work.tokens.size() + limits_.block_tokens - 1) / limits_.block_tokens;
  if (blocks > pool_.capacity())
    return error{errc::out_of_blocks, "prompt needs " + std::to_string(blocks)
                                        + " KV blocks, prefill has "
                                        + std::to_string(pool_.capacity())};
  auto waiting = std::count_if(works_.begin(), works_.end(),
                               [](const entry& e) { return !e.lease && !e.over; });
  if (static_cast<uint32_t>(waiting) >= limits_.queue_max)
    return error{errc::overloaded, "prefill queue is full"};
  if (find(work.key) != nullptr)
    return {}; // A repeated message.
  works_.push_back(entry{std::move(work), std::nullopt, 0, 0, 0, 0, 0, 0, 0, 0, false});
  return {};
}

bool prefill_queue::start(entry& e, time_us now) {
  if (free_slots_.empty())
    return false;
  auto tokens = static_cast<uint32_t>(e.what.tokens.size());
  auto total = (tokens + limits_.block_tokens - 1) / limits_.block_tokens;
  // At least one token is computed, so that every prompt ends with a step.
  auto hit = cache_.find(e.what.tokens, tokens - 1, e.what.cache_scope);
  auto found = static_cast<uint32_t>(hit.blocks().size());
  auto fresh = cache_.acquire(total - found);
  if (!fresh)
    return false;
  cache_.count_hit(hit);
  gpu::block_pool::join(hit, std::move(*fresh));
  e.lease.emplace(std::move(hit));
  e.cached = found * limits_.block_tokens;
  e.issued = e.computed = e.cached;
  e.slot = free_slots_.back();
  free_slots_.pop_back();
  e.published = e.what.skip / limits_.block_tokens;
  e.begun_at = now;
  return true;
}

prefill_queue::planned prefill_queue::plan(uint64_t number, time_us now) {
  planned next;
  next.step.number = number;
  std::vector<part> parts;
  uint32_t budget = limits_.step_tokens_max;
  for (auto& e : works_) {
    auto total = static_cast<uint32_t>(e.what.tokens.size());
    if (e.over || e.issued == total)
      continue;
    if (budget == 0)
      break;
    if (!e.lease) {
      if (!start(e, now))
        break; // Later prompts must not overtake this one.
      next.starts.push_back(
        {e.what.key, e.what.decode, total - e.what.skip, e.what.skip, e.what.deadline});
    }
    auto count = std::min(budget, total - e.issued);
    gpu::row_run run;
    run.slot = e.slot;
    run.position = e.issued;
    auto first = e.what.tokens.begin() + e.issued;
    run.tokens.assign(first, first + count);
    auto blocks = e.lease->blocks();
    auto used = (e.issued + count + limits_.block_tokens - 1) / limits_.block_tokens;
    run.blocks.assign(blocks.begin(), blocks.begin() + used);
    e.issued += count;
    ++e.steps_out;
    budget -= count;
    parts.push_back({e.what.key, count});
    next.step.rows.push_back(std::move(run));
  }
  if (!parts.empty())
    steps_out_.push_back(std::move(parts));
  return next;
}

std::optional<prefill_queue::publication> prefill_queue::publish(entry& e) {
  bool last = e.computed == e.what.tokens.size();
  auto blocks = e.lease->blocks();
  auto final_count
    = last ? static_cast<uint32_t>(blocks.size()) : e.computed / limits_.block_tokens;
  if (final_count <= e.published && !last)
    return std::nullopt;
  publication p{e.what.key, e.published, {}, {}, last};
  for (; e.published < final_count; ++e.published) {
    p.blocks.push_back(blocks[e.published]);
    p.generations.push_back(pool_.generation(blocks[e.published]));
  }
  return p;
}

std::vector<prefill_queue::publication> prefill_queue::apply(const gpu::step_output& output,
                                                             time_us now) {
  PS_CHECK(!steps_out_.empty());
  auto parts = std::move(steps_out_.front());
  steps_out_.erase(steps_out_.begin());
  std::vector<publication> ready;
  for (const auto& p : parts) {
    auto* e = find(p.key);
    PS_CHECK(e != nullptr); // Work stays until no step names it.
    --e->steps_out;
    if (!e->over && output.code == errc::ok) {
      e->computed += p.tokens;
      if (e->computed == e->what.tokens.size()) {
        e->done_at = now;
        auto tokens = std::span{e->what.tokens};
        tokens = tokens.first(std::min<size_t>(tokens.size(), e->what.cache_tokens_max));
        cache_.insert(tokens, e->lease->blocks(), e->what.cache_scope);
        free_slots_.push_back(e->slot);
      }
      if (auto p_ready = publish(*e))
        ready.push_back(std::move(*p_ready));
    }
    remove_if_quiet(p.key);
  }
  return ready;
}

void prefill_queue::drop(const work_key& key) {
  auto* e = find(key);
  if (e == nullptr || e->over)
    return;
  e->over = true;
  remove_if_quiet(key);
}

void prefill_queue::remove_if_quiet(const work_key& key) {
  auto at = std::find_if(works_.begin(), works_.end(),
                         [&key](const entry& e) { return e.what.key == key; });
  if (at == works_.end() || !at->over || at->steps_out > 0)
    return;
  if (at->lease && at->computed < at->what.tokens.size())
    free_slots_.push_back(at->slot);
  works_.erase(at);
}

prefill_queue::entry* prefill_queue::find(const work_key& key) {
  return const_cast<entry*>(std::as_const(*this).find(key));
}

const prefill_queue::entry* prefill_queue::find(const work_key& key) const {
  auto at = std::find_if(works_.begin(), works_.end(),
                         [&key](const entry& e) { return e.what.key == key; });
  return at == works_.end() ? nullptr : &*at;
}

std::vector<work_key> prefill_queue::late(time_us now) const {
  return keys_if([now](const prefill_work& w) { return w.deadline <= now; });
}

std::optional<prefill_queue::report> prefill_queue::report_on(const work_key& key) const {
  const auto* e = find(key);
  if (e == nullptr || !e->lease)
    return std::nullopt;
  return report{e->what.decode,
                e->begun_at - e->what.queued_at,
                e->done_at > 0 ? e->done_at - e->begun_at : 0,
                e->computed - e->cached,
                std::max(e->cached, e->what.skip) - e->what.skip,
                e->what.deadline};
}

uint32_t prefill_queue::queued_tokens() const noexcept {
  uint32_t tokens = 0;
  for (const auto& e : works_)
    if (!e.over)
      tokens += static_cast<uint32_t>(e.what.tokens.size()) - e.computed;
  return tokens;
}

} // namespace penstock::actors
