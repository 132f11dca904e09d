#include "actors/prefill.hpp"

#include "actors/pool_report.hpp"
#include "base/log.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

void prefill_state::receive(const schema::envelope& e) {
  const auto& h = e.header;
  if (const auto* m = std::get_if<schema::prefill>(&e.body)) {
    accept(h, *m);
  } else if (std::holds_alternative<schema::landed>(e.body)
             || std::holds_alternative<schema::cancel>(e.body)) {
    // From decode, which knows the key by the session's gateway only through the request's id.
    for (const auto& key : queue->keys_if([&h](const prefill_work& w) {
           return w.key.request == h.request && w.key.attempt == h.attempt
                  && (h.from == w.decode || h.from == w.key.gateway);
         }))
      queue->drop(key);
  } else if (const auto* down = std::get_if<schema::peer_down>(&e.body)) {
    for (const auto& key : queue->keys_if([down](const prefill_work& w) {
           return w.decode == down->peer || w.key.gateway == down->peer;
         }))
      queue->drop(key);
  }
  pump();
}

void prefill_state::accept(const schema::header& h, const schema::prefill& m) {
  auto now = how->time->now();
  auto key = key_of(h.from, h);
  auto added = queue->add({key, m.decode, m.tokens, m.skip, now + h.budget_us, now, m.priority,
                           m.cache_scope, m.cache_tokens_max});
  if (!added) {
    schema::refused no{added.err().code, added.err().detail, 0};
    how->post.to_session(key, h.budget_us, no);
  }
}

void prefill_state::finished(const gpu::step_output& output) {
  auto tokens = steps_out.front();
  steps_out.pop_front();
  if (output.code != errc::ok) {
    fail_all(output);
    pump();
    return;
  }
  auto now = how->time->now();
  for (auto& p : queue->apply(output, now)) {
    auto report = queue->report_on(p.key);
    PS_CHECK(report.has_value());
    auto budget = left_us(report->deadline, now);
    auto key = p.key;
    bool last = p.last;
    caf::anon_send(publisher, kv_publish{key, report->decode, budget, p.first_index,
                                         std::move(p.blocks), std::move(p.generations), last});
    if (last) {
      how->post.to_session(key, budget,
                           schema::prefilled{report->queue_us, report->compute_us,
                                             report->computed_tokens, report->cached_tokens});
    }
  }
  how->probe.stepped(tokens, output.compute_us);
  pump();
}

void prefill_state::fail_all(const gpu::step_output& output) {
  log::error("device_failed", {{"role", "prefill"}, {"detail", output.detail}});
  (void)queue->apply(output, how->time->now());
  for (const auto& key : queue->keys_if([](const prefill_work&) { return true; })) {
    how->post.to_session(key, 0, schema::refused{output.code, output.detail, 0});
    queue->drop(key);
  }
}

void prefill_state::sweep() {
  for (const auto& key : queue->late(how->time->now()))
    queue->drop(key); // Its session ends itself, and decode has the same deadline.
  pump();
}

void prefill_state::pump() {
  auto now = how->time->now();
  while (steps_out.size() < limits::steps_queued_max) {
    auto next = queue->plan(next_step, now);
    for (const auto& b : next.starts)
      how->post.send(b.decode, schema::role::decode, b.key, left_us(b.deadline, now),
                     schema::begin{b.tokens, b.skip});
    if (next.step.rows.empty())
      break;
    ++next_step;
    uint32_t tokens = 0;
    for (const auto& row : next.step.rows)
      tokens += row.count();
    steps_out.push_back(tokens);
    caf::anon_send(device, std::make_shared<gpu::step>(std::move(next.step)));
  }
  auto counts = how->pool->counts();
  how->load->queued_tokens = queue->queued_tokens();
  how->load->blocks_free = counts.free + counts.cached; // Idle entries go when blocks are short.
  how->load->blocks_capacity = counts.capacity;
  how->probe.queued(queue->queued_tokens());
  report_pool(how->kv, *how->pool, *how->cache);
}

caf::behavior prefill(caf::stateful_actor<prefill_state>* self, prefill_setup how) {
  auto& state = self->state;
  state.queue.emplace(how.limits, *how.pool, *how.cache);
  state.how.emplace(std::move(how));
  state.device = state.how->spawn_device(caf::actor{self});
  state.publisher = state.how->spawn_publisher();
  self->link_to(state.device);
  self->link_to(state.publisher);
  self->send(self, tick_atom_v);
  return {
    [self](const schema::message& m) {
      if (auto e = schema::decode(m))
        self->state.receive(*e);
    },
    [self](const gpu::step_output& output) { self->state.finished(output); },
    [self](tick_atom) {
      self->state.sweep();
      self->delayed_send(self, self->state.how->sweep_every, tick_atom_v);
    },
  };
}

} // namespace penstock::actors
