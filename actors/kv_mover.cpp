#include "actors/kv_mover.hpp"

#include "base/log.hpp"
#include "fabric/descriptor_set.hpp"

#include <caf/send.hpp>

#include <algorithm>

namespace penstock::actors {

namespace {

fabric::published to_fabric(const schema::published& p) {
  return {p.first_index, p.source_blocks, p.generations, p.digests, p.last};
}

ops::transfer_result result_of(errc code) {
  switch (code) {
  case errc::stale_data:
    return ops::transfer_result::stale;
  case errc::deadline_exceeded:
    return ops::transfer_result::expired;
  default:
    return ops::transfer_result::failed;
  }
}

} // namespace

result<void> kv_mover_state::open(source& s) {
  auto opened = try_open(s);
  if (!opened)
    log::warn("kv_source_not_opened", {{"node", s.what.node.node}, {"why", opened.err().text()}});
  return opened;
}

result<void> kv_mover_state::try_open(source& s) {
  auto set = fabric::parse_descriptor_set(s.what.descriptors);
  if (!set)
    return set.err();
  auto index = fabric::choose(*set, how->host, how->wanted);
  if (!index)
    return index.err();
  const auto& entry = set->entries[*index];
  auto by = std::find_if(how->transports.begin(), how->transports.end(),
                         [&entry](auto* t) { return t->name() == entry.transport; });
  if (by == how->transports.end())
    return error{errc::unsupported, "this node has no transport " + entry.transport};
  s.opening = next_opening++;
  auto region = (*by)->open(entry.from, [to = self, node = s.what.node, opening = s.opening](
                                          std::span<const fabric::read_done> done) {
    caf::anon_send(to, kv_reads_done{node, opening, {done.begin(), done.end()}});
  });
  if (!region)
    return region.err();
  s.region = std::move(*region);
  s.transport = entry.transport;
  s.probe = how->probe_for(entry.transport);
  log::info("kv_source_opened", {{"node", s.what.node.node}, {"transport", s.transport}});
  return {};
}

void kv_mover_state::close_region(source& s) {
  if (!s.region)
    return;
  s.region.reset(); // From here on nothing of it lands.
  for (const auto& key : flows->of(s.what.node))
    flows->find(key)->moving.region_closed();
}

void kv_mover_state::expect(const kv_expect& m) {
  auto fail = [&](const error& why) { caf::anon_send(how->owner, kv_failed{m.key, why}); };
  auto at = sources.find(m.source);
  if (at == sources.end()) {
    fail({errc::unavailable, "the prefill node is not known here"});
    return;
  }
  auto& s = at->second;
  if (!s.region)
    if (auto opened = open(s); !opened) {
      fail(opened.err());
      return;
    }
  const auto& layout = how->device->layout();
  fabric::transfer_geometry geometry{layout.layers, layout.piece_bytes(), s.what.blocks,
                                     layout.blocks};
  if (auto flow = flows->open(m.key, m.source, geometry, m.first_index, m.blocks); !flow)
    fail(flow.err());
}

void kv_mover_state::published(const kv_published& m) {
  auto* flow = flows->find(m.key);
  if (flow == nullptr || flow->dropped_at > 0)
    return;
  auto& s = sources.at(flow->source);
  flow->published_at = how->time->now();
  if (auto added = flow->moving.add(to_fabric(m.what)); !added) {
    log::warn("kv_publication_refused", {{"why", added.err().detail}});
    (void)flow->moving.cancel();
  }
  post(s, *flow);
  settle(s, m.key);
}

void kv_mover_state::post(source& s, kv_flow& flow) {
  while (true) {
    auto reads = flow.moving.next_reads(how->limits.reads_in_flight_max);
    if (reads.empty())
      return;
    if (flow.began_at == 0)
      flow.began_at = how->time->now();
    for (size_t i = 0; i < reads.size(); ++i) {
      result<void> posted = s.region
                              ? s.region->read(reads[i].offset, reads[i].into, reads[i].cookie)
                              : result<void>{error{errc::transfer_failed, "closed"}};
      if (posted)
        continue;
      if (posted.err().code == errc::overloaded) {
        for (; i < reads.size(); ++i)
          flow.moving.withdraw(reads[i].cookie); // Posted again after a completion.
        return;
      }
      // A broken region: every read on it has failed once; the next try opens it anew.
      for (size_t rest = i; rest < reads.size(); ++rest)
        (void)flow.moving.completed(reads[rest].cookie, posted.err().code);
      close_region(s);
      (void)open(s);
      break;
    }
  }
}

void kv_mover_state::reads_done(const kv_reads_done& m) {
  auto at = sources.find(m.node);
  if (at == sources.end() || at->second.opening != m.opening)
    return; // Of a region that was closed: its transfers know.
  auto& s = at->second;
  bool broken = false;
  for (const auto& d : m.done) {
    auto* flow = flows->find(fabric::transfer::id_of(d.cookie));
    if (flow != nullptr)
      (void)flow->moving.completed(d.cookie, d.code);
    broken = broken || d.code == errc::peer_lost;
  }
  if (broken) {
    close_region(s);
    (void)open(s);
  }
  settle_all(m.node);
}

void kv_mover_state::settle_all(const schema::node_ref& node) {
  auto& s = sources.at(node);
  for (const auto& key : flows->of(node)) {
    post(s, *flows->find(key));
    settle(s, key);
  }
}

void kv_mover_state::settle(source& s, const work_key& key) {
  auto& flow = *flows->find(key);
  auto state = flow.moving.state();
  if (state == fabric::transfer_state::reading
      || flow.moving.settle().state != fabric::settlement::kind::quiesced)
    return;
  auto now = how->time->now();
  auto took = flow.began_at > 0 ? now - flow.began_at : 0;
  const auto& stats = flow.moving.stats();
  for (uint64_t i = 0; i < stats.retries; ++i)
    s.probe.retried(i < stats.wrong_digests ? errc::stale_data : errc::transfer_failed);
  if (flow.dropped_at > 0) {
    s.probe.ended(ops::transfer_result::cancelled, stats.bytes, took);
    caf::anon_send(how->owner, kv_quiet{key});
  } else if (state == fabric::transfer_state::landed) {
    s.probe.ended(ops::transfer_result::done, stats.bytes, took);
    caf::anon_send(how->owner, kv_landed{key, took, std::min(took, now - flow.published_at),
                                         stats.bytes, s.transport});
  } else {
    error why = state == fabric::transfer_state::failed
                  ? flow.moving.failure()
                  : error{errc::malformed, "prefill published what does not fit"};
    s.probe.ended(result_of(why.code), stats.bytes, took);
    caf::anon_send(how->owner, kv_failed{key, why});
  }
  flows->close(key);
}

void kv_mover_state::drop(const work_key& key) {
  auto* flow = flows->find(key);
  if (flow == nullptr) {
    caf::anon_send(how->owner, kv_quiet{key});
    return;
  }
  flow->dropped_at = how->time->now();
  (void)flow->moving.cancel();
  settle(sources.at(flow->source), key);
}

void kv_mover_state::source_gone(const schema::node_ref& node) {
  auto at = sources.find(node);
  if (at == sources.end())
    return;
  close_region(at->second);
  for (const auto& key : flows->of(node)) {
    auto& flow = *flows->find(key);
    (void)flow.moving.cancel();
    if (flow.dropped_at == 0) {
      at->second.probe.ended(ops::transfer_result::failed, flow.moving.stats().bytes, 0);
      caf::anon_send(how->owner, kv_failed{key, {errc::peer_lost, "the prefill node died"}});
      flows->close(key);
    } else {
      settle(at->second, key);
    }
  }
  sources.erase(at);
}

void kv_mover_state::sweep() {
  auto now = how->time->now();
  auto before = now > how->drop_grace_us ? now - how->drop_grace_us : 0;
  for (const auto& node : flows->stuck_since(before)) {
    auto& s = sources.at(node);
    if (!s.region)
      continue; // Closed for an earlier one of this round.
    log::warn("kv_source_stalled", {{"node", node.node}, {"transport", s.transport}});
    close_region(s);
  }
  for (auto& [node, s] : sources)
    if (!s.region && !flows->of(node).empty()) {
      (void)open(s);
      settle_all(node);
    }
}

caf::behavior kv_mover(caf::stateful_actor<kv_mover_state>* self, kv_mover_setup how) {
  auto& state = self->state;
  state.self = caf::actor{self};
  state.flows.emplace(how.device->pool(), how.scratch, how.limits);
  state.how.emplace(std::move(how));
  self->send(self, tick_atom_v);
  return {
    [self](kv_source& m) {
      auto node = m.node;
      self->state.source_gone(node); // Said twice: start afresh.
      auto& s = self->state.sources[node];
      s.what = std::move(m);
    },
    [self](const kv_expect& m) { self->state.expect(m); },
    [self](const kv_published& m) { self->state.published(m); },
    [self](const kv_drop& m) { self->state.drop(m.key); },
    [self](const kv_source_gone& m) { self->state.source_gone(m.node); },
    [self](const kv_reads_done& m) { self->state.reads_done(m); },
    [self](tick_atom) {
      self->state.sweep();
      self->delayed_send(self, self->state.how->sweep_every, tick_atom_v);
    },
  };
}

} // namespace penstock::actors
