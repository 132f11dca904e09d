#include "actors/request_story.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace penstock::actors {

namespace {

/// Placements of one request, at most. The budget ends it earlier if each takes long.
constexpr uint32_t attempts_max = 8;
/// Pause before asking the directory again when nobody can serve. Second and later retries wait as
/// long, then twice as long each: nodes may need a heartbeat or two to hear of each other.
constexpr uint64_t place_again_us = 50'000;
/// Partners remembered as bad.
constexpr size_t avoid_max = 8;

template <class... Handlers>
struct overloaded : Handlers... {
  using Handlers::operator()...;
};

} // namespace

request_story::request_story(setup what) : setup_(std::move(what)) {
  progress_at_ = setup_.accepted_at;
}

std::optional<error> request_story::invalid() const {
  auto prompt = setup_.prompt.size();
  if (setup_.budget_us == 0)
    return error{errc::deadline_exceeded, "budget is 0: give the time the request may take"};
  if (prompt == 0)
    return error{errc::prompt_empty, "the prompt has no tokens"};
  if (prompt >= setup_.context_tokens)
    return error{errc::prompt_too_long,
                 "the prompt has " + std::to_string(prompt) + " tokens, the model's context holds "
                   + std::to_string(setup_.context_tokens) + " including at least one to generate"};
  if (setup_.sampling.tokens_max == 0)
    return error{errc::invalid_argument, "max_tokens must be at least 1"};
  return std::nullopt;
}

void request_story::begin(time_us now) {
  if (auto wrong = invalid()) {
    finish(finish_reason::refused, wrong->code, wrong->detail, now);
    return;
  }
  auto prompt = static_cast<uint32_t>(setup_.prompt.size());
  auto tokens_max = std::min(setup_.sampling.tokens_max, setup_.context_tokens - prompt);
  send(setup_.self, schema::role::admission, schema::admit{prompt, tokens_max});
}

void request_story::refuse(errc code, std::string detail, time_us now) {
  if (!ended())
    finish(finish_reason::refused, code, std::move(detail), now);
}

void request_story::receive(const schema::header& from, const schema::body& what, time_us now) {
  bool about_peer = std::holds_alternative<schema::peer_down>(what);
  if (ended() || (from.attempt != attempt_ && !about_peer))
    return;
  std::visit(
    overloaded{
      [&](const schema::admitted& m) { on(m, now); }, [&](const schema::verdict& m) { on(m, now); },
      [&](const schema::placed& m) { on(m, now); }, [&](const schema::booked& m) { on(m, now); },
      [&](const schema::prefilled& m) { on(m, now); },
      [&](const schema::arrived& m) { on(m, now); },
      [&](const schema::refused& m) { on_refused(from, m, now); },
      [&](const schema::peer_down& m) { on_peer_down(m.peer, now); },
      [](const auto&) {}, // Not for a session: a wrong sender must not matter.
    },
    what);
}

void request_story::on(const schema::admitted&, time_us now) {
  if (stage_ != stage::admitting)
    return;
  draft_.timings.admission_us = now - setup_.accepted_at;
  stage_ = stage::guarding;
  send(setup_.self, schema::role::guardrail, schema::screen{setup_.prompt_text});
}

void request_story::on(const schema::verdict& m, time_us now) {
  if (stage_ != stage::guarding)
    return;
  draft_.timings.guardrail_us = m.took_us;
  if (!m.allowed) {
    finish(finish_reason::blocked, errc::blocked, "guardrail: " + m.rule, now);
    return;
  }
  next_attempt(now);
  ask_for_place();
}

void request_story::next_attempt(time_us now) {
  stage_ = stage::placing;
  placed_at_ = now;
  placed_.reset();
  ++attempt_;
  draft_.placement.attempts = attempt_;
}

void request_story::ask_for_place() {
  place_again_at_ = 0;
  auto known = static_cast<uint32_t>(setup_.prompt.size() + tokens_.size());
  send(setup_.self, schema::role::directory,
       schema::place{known, setup_.sampling.tokens_max, avoid_});
}

void request_story::on(const schema::placed& m, time_us now) {
  if (stage_ != stage::placing)
    return;
  placed_ = m;
  stage_ = stage::booking;
  progress_at_ = now;
  schema::book b;
  b.prefill = m.prefill;
  b.tokens = setup_.prompt;
  for (const auto& t : tokens_)
    b.tokens.push_back(t.id);
  b.prompt_tokens = static_cast<uint32_t>(setup_.prompt.size());
  b.sampling = setup_.sampling;
  b.end_ids = setup_.end_ids;
  b.priority = setup_.priority;
  b.cache_scope = setup_.cache_scope;
  b.cache_tokens_max = cache_tokens_max();
  decode_told_ = true;
  send(m.decode, schema::role::decode, std::move(b));
}

void request_story::on(const schema::booked& m, time_us now) {
  if (stage_ != stage::booking)
    return;
  progress_at_ = now;
  draft_.timings.queue_us += now - placed_at_;
  auto sequence = setup_.prompt.size() + tokens_.size();
  if (attempt_ == 1)
    draft_.usage.cached_tokens = m.cached_tokens;
  if (m.cached_tokens + 1 >= sequence) {
    stage_ = stage::arriving; // Decode has all it needs.
    return;
  }
  schema::prefill p;
  p.decode = placed_->decode;
  p.tokens = setup_.prompt;
  for (const auto& t : tokens_)
    p.tokens.push_back(t.id);
  p.tokens.pop_back();
  p.skip = m.cached_tokens;
  p.priority = setup_.priority;
  p.cache_scope = setup_.cache_scope;
  p.cache_tokens_max = cache_tokens_max();
  stage_ = stage::prefilling;
  prefill_told_ = true;
  send(placed_->prefill, schema::role::prefill, std::move(p));
}

void request_story::on(const schema::prefilled& m, time_us now) {
  if (stage_ != stage::prefilling && stage_ != stage::arriving && stage_ != stage::decoding)
    return;
  progress_at_ = now;
  draft_.timings.queue_us += m.queue_us;
  draft_.timings.prefill_us += m.compute_us;
  if (attempt_ > 1)
    draft_.usage.recomputed_tokens += m.computed_tokens;
  else
    draft_.usage.cached_tokens += m.cached_tokens;
  if (stage_ == stage::prefilling)
    stage_ = stage::arriving;
}

void request_story::on(const schema::arrived& m, time_us now) {
  if (stage_ != stage::prefilling && stage_ != stage::arriving && stage_ != stage::decoding)
    return;
  progress_at_ = now;
  draft_.timings.transfer_us += m.transfer_us;
  draft_.timings.transfer_exposed_us += m.exposed_us;
  draft_.timings.transfer_bytes += m.bytes;
  draft_.usage.transferred_tokens += m.tokens;
  draft_.placement.transport = m.transport;
  stage_ = stage::decoding;
}

void request_story::receive(const schema::node_ref& from, const schema::tokens::row& row,
                            time_us now) {
  if (ended() || row.attempt != attempt_ || !placed_ || from != placed_->decode)
    return;
  if (row.first_index > tokens_.size()) {
    retry(from, {errc::internal, "a message with tokens was lost"}, now);
    return;
  }
  if (row.first_index + row.generated.size() < tokens_.size())
    return; // Wholly old.
  stage_ = stage::decoding;
  progress_at_ = now;
  auto known = tokens_.size() - row.first_index;
  for (size_t i = known; i < row.generated.size(); ++i) {
    if (tokens_.empty())
      draft_.timings.ttft_us = now - setup_.accepted_at;
    tokens_.push_back(row.generated[i]);
  }
  if (row.finished) {
    decode_told_ = false; // It has forgotten the row.
    finish(row.reason, errc::ok, "", now);
  }
}

void request_story::on_refused(const schema::header& from, const schema::refused& m, time_us now) {
  if (from.to_role != schema::role::session)
    return;
  if (stage_ == stage::placing) {
    last_trouble_ = {m.code, m.detail};
    // Nobody can serve at this moment, perhaps because a node restarts: ask again for half of the
    // budget, so that the caller still hears a reason and not a deadline.
    if (m.code == errc::unavailable && now < setup_.accepted_at + setup_.budget_us / 2)
      place_again_at_ = now + place_again_us;
    else
      finish(finish_reason::refused, m.code, m.detail, now);
    return;
  }
  draft_.retry_after_us = m.retry_after_us;
  if (stage_ == stage::admitting || !is_retryable(m.code))
    finish(tokens_.empty() ? finish_reason::refused : finish_reason::failed, m.code, m.detail, now);
  else
    retry(from.from, {m.code, m.detail}, now);
}

void request_story::on_peer_down(const schema::node_ref& peer, time_us now) {
  if (!placed_)
    return;
  bool needs_prefill = stage_ == stage::booking || stage_ == stage::prefilling
                       || (stage_ == stage::arriving && prefill_told_);
  if (peer == placed_->decode || (needs_prefill && peer == placed_->prefill))
    retry(peer, {errc::peer_lost, "node " + std::to_string(peer.node) + " died"}, now);
}

void request_story::retry(const schema::node_ref& culprit, const error& why, time_us now) {
  drop_partners(why.code);
  last_trouble_ = why;
  if (attempt_ >= attempts_max) {
    finish(finish_reason::failed, why.code, why.detail, now);
    return;
  }
  if (std::find(avoid_.begin(), avoid_.end(), culprit) == avoid_.end() && avoid_.size() < avoid_max)
    avoid_.push_back(culprit);
  next_attempt(now);
  if (attempt_ == 2)
    ask_for_place();
  else
    place_again_at_ = now + (place_again_us << (attempt_ - 3));
}

void request_story::drop_partners(errc why) {
  if (!placed_)
    return;
  if (std::exchange(decode_told_, false))
    send(placed_->decode, schema::role::decode, schema::cancel{why});
  if (std::exchange(prefill_told_, false))
    send(placed_->prefill, schema::role::prefill, schema::cancel{why});
}

void request_story::cancel(time_us now) {
  if (!ended())
    finish(finish_reason::cancelled, errc::cancelled, "the client gave up", now);
}

void request_story::stop(uint32_t token_count, time_us now) {
  if (!ended())
    finish(finish_reason::stop, errc::ok, "", now);
  if (outcome_->code == errc::ok)
    outcome_->reason = finish_reason::stop; // Not length: the text ended before.
  outcome_->usage.completion_tokens = token_count;
}

uint32_t request_story::cache_tokens_max() const noexcept {
  // Decode runs ahead of the session: what it takes for the answer may lie past a stop.
  return setup_.answer_may_be_cut ? static_cast<uint32_t>(setup_.prompt.size()) : UINT32_MAX;
}

uint64_t request_story::patience_us() const noexcept {
  return setup_.budget_us / 3;
}

bool request_story::watches_progress() const noexcept {
  // Before, a long silence is a queue or a long prompt, bounded by the deadline.
  return stage_ == stage::arriving || stage_ == stage::decoding;
}

time_us request_story::wake_at() const {
  auto at = deadline();
  if (stage_ == stage::placing && place_again_at_ > 0)
    at = std::min(at, place_again_at_);
  if (watches_progress())
    at = std::min(at, progress_at_ + patience_us());
  return at;
}

void request_story::tick(time_us now) {
  if (ended())
    return;
  if (now >= deadline()) {
    auto detail = "the budget of " + std::to_string(setup_.budget_us / 1000) + " ms ran out";
    if (last_trouble_.code != errc::ok)
      detail += "; last trouble: " + last_trouble_.text();
    finish(finish_reason::deadline, errc::deadline_exceeded, detail, now);
    return;
  }
  if (stage_ == stage::placing && place_again_at_ > 0 && now >= place_again_at_) {
    ask_for_place();
  } else if (watches_progress() && now >= progress_at_ + patience_us()) {
    retry(placed_->decode, {errc::unavailable, "no progress"}, now);
  }
}

void request_story::finish(finish_reason reason, errc code, std::string detail, time_us now) {
  PS_CHECK(!ended());
  drop_partners(code == errc::ok ? errc::cancelled : code);
  send(setup_.self, schema::role::admission, schema::retire{});
  stage_ = stage::ended;
  auto& u = draft_.usage;
  u.completion_tokens = static_cast<uint32_t>(tokens_.size());
  if (code == errc::ok || !tokens_.empty()) {
    u.prompt_tokens = static_cast<uint32_t>(setup_.prompt.size());
    u.computed_tokens = u.prompt_tokens - u.cached_tokens;
  } else {
    u.cached_tokens = 0; // Nothing was made of it.
  }
  draft_.timings.total_us = now - setup_.accepted_at;
  draft_.reason = reason;
  draft_.code = code;
  draft_.detail = std::move(detail);
  outcome_ = draft_;
}

void request_story::send(const schema::node_ref& to, schema::role role, schema::body what) {
  outgoing_.push_back({to, role, attempt_, std::move(what)});
}

std::vector<request_story::outgoing> request_story::take_outgoing() {
  return std::exchange(outgoing_, {});
}

std::vector<generated_token> request_story::take_tokens() {
  std::vector<generated_token> fresh(tokens_.begin() + static_cast<std::ptrdiff_t>(taken_),
                                     tokens_.end());
  taken_ = tokens_.size();
  return fresh;
}

} // namespace penstock::actors
