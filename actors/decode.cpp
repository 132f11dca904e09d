#include "actors/decode.hpp"

#include "actors/pool_report.hpp"
#include "base/log.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

void decode_state::receive(const schema::envelope& e) {
  const auto& h = e.header;
  if (const auto* book = std::get_if<schema::book>(&e.body)) {
    accept(h, *book);
  } else if (std::holds_alternative<schema::begin>(e.body)
             || std::holds_alternative<schema::published>(e.body)) {
    on_prefill(h, e.body);
  } else if (std::holds_alternative<schema::cancel>(e.body)) {
    auto is_meant
      = [&h](const work_key& k) { return k.request == h.request && k.attempt == h.attempt; };
    for (const auto& key : booked->keys_if([&](const booking& b) {
           return is_meant(b.key) && (h.from == b.key.gateway || h.from == b.prefill);
         }))
      drop(key);
    for (const auto& key :
         batch->keys_if([&](const work_key& k) { return is_meant(k) && h.from == k.gateway; }))
      drop(key);
  } else if (const auto* beat = std::get_if<schema::heartbeat>(&e.body)) {
    // The directory passes these on when a prefill node comes up.
    caf::anon_send(mover, kv_source{h.from, beat->kv_source, beat->kv_source_blocks});
  } else if (const auto* down = std::get_if<schema::peer_down>(&e.body)) {
    on_peer_down(down->peer);
  }
  pump();
}

void decode_state::accept(const schema::header& h, const schema::book& m) {
  auto key = key_of(h.from, h);
  auto added
    = booked->add({key, m.prefill, m.tokens, m.prompt_tokens, m.sampling, m.end_ids,
                   how->time->now() + h.budget_us, m.priority, m.cache_scope, m.cache_tokens_max});
  if (!added)
    how->post.to_session(key, h.budget_us,
                         schema::refused{added.err().code, added.err().detail, 0});
}

void decode_state::on_prefill(const schema::header& h, const schema::body& what) {
  for (const auto& key : booked->keys_if([&h](const booking& b) {
         return b.key.request == h.request && b.key.attempt == h.attempt && b.prefill == h.from;
       })) {
    booked->begin(key); // A publication says so too, should `begin` be late.
    if (const auto* p = std::get_if<schema::published>(&what)) {
      if (booked->is_receiving(key))
        caf::anon_send(mover, kv_published{key, *p});
      else
        early[key].push_back(*p);
    }
  }
}

void decode_state::on_peer_down(const schema::node_ref& peer) {
  for (const auto& key : booked->keys_if([&](const booking& b) { return b.key.gateway == peer; }))
    drop(key);
  for (const auto& key : batch->keys_if([&](const work_key& k) { return k.gateway == peer; }))
    drop(key);
  for (const auto& key : booked->keys_if([&](const booking& b) { return b.prefill == peer; }))
    if (!booked->has_all_kv(key)) {
      refuse(key, {errc::peer_lost, "the prefill node died"});
      drop(key);
    }
  caf::anon_send(mover, kv_source_gone{peer});
}

void decode_state::landed(const kv_landed& m) {
  const auto* b = booked->find(m.key);
  if (b == nullptr || !booked->landed(m.key))
    return;
  auto budget = left_us(b->deadline, how->time->now());
  how->post.send(b->prefill, schema::role::prefill, m.key, budget, schema::landed{});
  how->post.to_session(
    m.key, budget,
    schema::arrived{m.transfer_us, m.exposed_us, m.bytes,
                    static_cast<uint32_t>(b->tokens.size()) - 1 - booked->cached_tokens(m.key),
                    m.transport});
  pump();
}

void decode_state::failed(const kv_failed& m) {
  if (const auto* b = booked->find(m.key)) {
    auto budget = left_us(b->deadline, how->time->now());
    how->post.send(b->prefill, schema::role::prefill, m.key, budget, schema::cancel{m.what.code});
    refuse(m.key, m.what);
    (void)booked->drop(m.key);
    booked->quiet(m.key); // A failed transfer has no read in flight.
    early.erase(m.key);
  }
  pump();
}

void decode_state::refuse(const work_key& key, const error& why) {
  how->post.to_session(key, 0, schema::refused{why.code, why.detail, 0});
}

void decode_state::drop(const work_key& key) {
  early.erase(key);
  switch (booked->drop(key)) {
  case bookings::drop_result::leaving:
    caf::anon_send(mover, kv_drop{key});
    break;
  case bookings::drop_result::running:
    batch->drop(key);
    booked->finished(key);
    break;
  case bookings::drop_result::gone:
  case bookings::drop_result::unknown:
    break;
  }
}

void decode_state::finished(const gpu::step_output& output) {
  --steps_out;
  auto all = batch->apply(output);
  if (output.code != errc::ok) {
    log::error("device_failed", {{"role", "decode"}, {"detail", output.detail}});
    for (const auto& key : batch->keys_if([](const work_key&) { return true; })) {
      refuse(key, {output.code, output.detail});
      drop(key);
    }
  }
  std::map<schema::node_ref, schema::tokens> by_gateway;
  for (auto& p : all) {
    by_gateway[p.key.gateway].rows.push_back(
      {p.key.request, p.key.attempt, p.first_index, std::move(p.generated), p.finished, p.reason});
    if (p.finished)
      booked->finished(p.key);
  }
  for (const auto& [gateway, rows] : by_gateway)
    how->post.send(gateway, schema::role::gateway, {gateway, 0, 0}, 0, rows);
  auto discarded = batch->discarded_count();
  how->probe.stepped(static_cast<uint32_t>(output.sampled.size()), output.compute_us,
                     had_rows ? output.idle_us : 0);
  had_rows = batch->running_count() > 0;
  how->probe.discarded(static_cast<uint32_t>(discarded - discarded_reported));
  discarded_reported = discarded;
  pump();
}

void decode_state::sweep() {
  auto now = how->time->now();
  for (const auto& key : booked->late(now))
    drop(key); // Its session has the same deadline and ends itself.
  for (const auto& key : batch->late(now))
    drop(key);
  pump();
}

void decode_state::pump() {
  for (const auto& a : booked->admit()) {
    const auto& b = *booked->find(a.key);
    how->post.to_session(a.key, left_us(b.deadline, how->time->now()),
                         schema::booked{a.cached_tokens});
    if (!a.needs_transfer)
      booked->begin_without_transfer(a.key);
  }
  for (auto& grant : booked->take_blocks()) {
    if (!grant.transfer)
      continue;
    caf::anon_send(mover,
                   kv_expect{grant.key, grant.prefill, grant.first_index, std::move(grant.blocks)});
    if (auto pending = early.extract(grant.key))
      for (auto& p : pending.mapped())
        caf::anon_send(mover, kv_published{grant.key, std::move(p)});
  }
  while (batch->has_slot()) {
    auto row = booked->next_ready();
    if (!row)
      break;
    batch->add(std::move(*row));
  }
  while (steps_out < limits::steps_queued_max) {
    auto next = batch->plan(next_step);
    if (next.rows.empty())
      break;
    ++next_step;
    ++steps_out;
    caf::anon_send(device, std::make_shared<gpu::step>(std::move(next)));
  }
  report();
}

void decode_state::report() {
  auto counts = how->pool->counts();
  how->load->running_rows = booked->count();
  how->load->blocks_free = counts.capacity - booked->reserved_blocks();
  how->load->blocks_capacity = counts.capacity;
  how->probe.running(batch->running_count());
  report_pool(how->kv, *how->pool, *how->cache);
}

caf::behavior decode(caf::stateful_actor<decode_state>* self, decode_setup how) {
  auto& state = self->state;
  state.booked.emplace(how.limits, *how.pool, *how.cache);
  state.batch.emplace(how.limits.rows_max, how.limits.context_max, *how.cache);
  state.how.emplace(std::move(how));
  state.device = state.how->spawn_device(caf::actor{self});
  state.mover = state.how->spawn_mover(caf::actor{self});
  self->link_to(state.device);
  self->link_to(state.mover);
  self->send(self, tick_atom_v);
  return {
    [self](const schema::message& m) {
      if (auto e = schema::decode(m))
        self->state.receive(*e);
    },
    [self](const gpu::step_output& output) { self->state.finished(output); },
    [self](const kv_landed& m) { self->state.landed(m); },
    [self](const kv_failed& m) { self->state.failed(m); },
    [self](const kv_quiet& m) {
      self->state.booked->quiet(m.key);
      self->state.pump();
    },
    [self](tick_atom) {
      self->state.sweep();
      self->delayed_send(self, self->state.how->sweep_every, tick_atom_v);
    },
  };
}

} // namespace penstock::actors
