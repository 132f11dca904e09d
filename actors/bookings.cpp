#include "actors/bookings.hpp"

#include <algorithm>

namespace penstock::actors {

bookings::bookings(limits bounds, gpu::block_pool& pool, gpu::prefix_cache& cache)
  : bounds_(bounds), pool_(pool), cache_(cache) {
  PS_CHECK(bounds_.rows_max > 0 && bounds_.context_max > 1 && bounds_.block_tokens > 0);
}

result<void> bookings::add(booking b) {
  if (entries_.contains(b.key))
    return {}; // A repeated message.
  auto fed = b.tokens.size();
  if (fed == 0 || b.prompt_tokens == 0 || b.prompt_tokens > fed)
    return error{errc::invalid_argument, "a booking needs a prompt"};
  auto generated = static_cast<uint32_t>(fed) - b.prompt_tokens;
  if (generated >= b.sampling.tokens_max)
    return error{errc::invalid_argument, "nothing left to generate"};
  if (fed >= bounds_.context_max)
    return error{errc::prompt_too_long, std::to_string(fed) + " tokens, the context holds "
                                          + std::to_string(bounds_.context_max)
                                          + " with at least one to generate"};
  auto last
    = std::min<uint64_t>(uint64_t{b.prompt_tokens} + b.sampling.tokens_max, bounds_.context_max);
  auto blocks = static_cast<uint32_t>((last + bounds_.block_tokens - 1) / bounds_.block_tokens);
  if (blocks > pool_.capacity())
    return error{errc::invalid_argument, "the sequence needs " + std::to_string(blocks)
                                           + " KV blocks, decode has "
                                           + std::to_string(pool_.capacity())};
  if (order_.size() >= bounds_.queue_max)
    return error{errc::overloaded, "decode's booking queue is full"};
  auto key = b.key;
  order_.push_back(key);
  entries_.emplace(key, entry{std::move(b), stage::waiting, blocks, true, 0, {}, {}, {}});
  return {};
}

std::vector<bookings::admitted> bookings::admit() {
  std::vector<admitted> now_booked;
  while (!order_.empty() && reserved_rows_ < bounds_.rows_max) {
    auto& e = entries_.at(order_.front());
    if (e.blocks > pool_.capacity() - reserved_blocks_)
      break; // Later bookings must not overtake this one.
    e.at = stage::booked;
    ++reserved_rows_;
    reserved_blocks_ += e.blocks;
    auto kv_tokens = static_cast<uint32_t>(e.what.tokens.size()) - 1;
    auto hit = cache_.find(e.what.tokens, kv_tokens, e.what.cache_scope);
    cache_.count_hit(hit);
    e.cached_tokens = static_cast<uint32_t>(hit.blocks().size()) * bounds_.block_tokens;
    e.hit = std::move(hit);
    now_booked.push_back({order_.front(), e.cached_tokens, e.cached_tokens < kv_tokens});
    order_.pop_front();
  }
  return now_booked;
}

void bookings::begin(const work_key& key) {
  auto* e = find_entry(key);
  if (e == nullptr || e->at != stage::booked)
    return;
  e->at = stage::begun;
  begun_.push_back(key);
}

void bookings::begin_without_transfer(const work_key& key) {
  auto* e = find_entry(key);
  PS_CHECK(e != nullptr && e->at == stage::booked);
  e->transfer = false;
  begin(key);
}

std::vector<bookings::grant> bookings::take_blocks() {
  std::vector<grant> grants;
  while (!begun_.empty()) {
    auto& e = entries_.at(begun_.front());
    auto first = static_cast<uint32_t>(e.hit.blocks().size());
    auto lease = cache_.acquire(e.blocks - first);
    if (!lease)
      break; // Dropped rows still hold some; they come back when their steps are done.
    e.lease.emplace(std::move(*lease));
    e.at = e.transfer ? stage::receiving : stage::ready;
    if (!e.transfer)
      ready_.push_back(begun_.front());
    auto kv_tokens = e.what.tokens.size() - 1;
    auto receiving = (kv_tokens + bounds_.block_tokens - 1) / bounds_.block_tokens - first;
    auto all = e.lease->blocks();
    std::vector<uint32_t> blocks{all.begin(), all.begin() + static_cast<ptrdiff_t>(receiving)};
    grants.push_back({begun_.front(), e.what.prefill, first, std::move(blocks), e.transfer});
    begun_.pop_front();
  }
  return grants;
}

bool bookings::landed(const work_key& key) {
  auto* e = find_entry(key);
  if (e == nullptr || e->at != stage::receiving)
    return false;
  gpu::block_pool::join(e->hit, std::move(*e->lease));
  e->lease.reset();
  auto tokens = std::span{e->what.tokens};
  auto kept = std::min<size_t>(tokens.size() - 1, e->what.cache_tokens_max);
  cache_.insert(tokens.first(kept), e->hit.blocks(), e->what.cache_scope);
  e->at = stage::ready;
  ready_.push_back(key);
  return true;
}

std::optional<decode_row> bookings::next_ready() {
  if (ready_.empty())
    return std::nullopt;
  auto key = ready_.front();
  ready_.pop_front();
  auto& e = entries_.at(key);
  e.at = stage::running;
  if (e.lease)
    gpu::block_pool::join(e.hit, std::move(*e.lease));
  e.lease.reset();
  decode_row row{key,
                 e.what.tokens,
                 e.what.prompt_tokens,
                 e.what.sampling,
                 e.what.end_ids,
                 std::move(e.hit),
                 e.what.deadline,
                 e.what.cache_scope,
                 e.what.cache_tokens_max};
  return row;
}

bookings::drop_result bookings::drop(const work_key& key) {
  auto* e = find_entry(key);
  if (e == nullptr)
    return drop_result::unknown;
  switch (e->at) {
  case stage::running:
    return drop_result::running;
  case stage::leaving:
    return drop_result::leaving;
  case stage::receiving:
    e->at = stage::leaving;
    e->quarantined = pool_.quarantine(std::move(*e->lease));
    e->lease.reset();
    e->hit = gpu::kv_lease{};
    return drop_result::leaving;
  case stage::waiting:
  case stage::booked:
  case stage::begun:
  case stage::ready:
    erase(key);
    return drop_result::gone;
  }
  PS_UNREACHABLE();
}

void bookings::quiet(const work_key& key) {
  auto* e = find_entry(key);
  if (e == nullptr || e->at != stage::leaving)
    return;
  pool_.end_quarantine(*e->quarantined);
  erase(key);
}

void bookings::finished(const work_key& key) {
  auto* e = find_entry(key);
  if (e != nullptr && e->at == stage::running)
    erase(key);
}

void bookings::erase(const work_key& key) {
  auto at = entries_.find(key);
  if (at->second.at != stage::waiting) {
    --reserved_rows_;
    reserved_blocks_ -= at->second.blocks;
  }
  std::erase(order_, key);
  std::erase(begun_, key);
  std::erase(ready_, key);
  entries_.erase(at);
}

bookings::entry* bookings::find_entry(const work_key& key) {
  auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second;
}

const booking* bookings::find(const work_key& key) const {
  auto at = entries_.find(key);
  return at == entries_.end() ? nullptr : &at->second.what;
}

uint32_t bookings::cached_tokens(const work_key& key) const {
  auto at = entries_.find(key);
  return at == entries_.end() ? 0 : at->second.cached_tokens;
}

bool bookings::is_receiving(const work_key& key) const {
  auto at = entries_.find(key);
  return at != entries_.end() && at->second.at == stage::receiving;
}

bool bookings::has_all_kv(const work_key& key) const {
  auto at = entries_.find(key);
  return at != entries_.end() && (at->second.at == stage::ready || at->second.at == stage::running);
}

std::vector<work_key> bookings::late(time_us now) const {
  return keys_if([now](const booking& b) { return b.deadline <= now; });
}

} // namespace penstock::actors
