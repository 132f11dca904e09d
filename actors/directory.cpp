#include "actors/directory.hpp"

#include "base/log.hpp"

#include <algorithm>

namespace penstock::actors {

namespace {

bool plays(const schema::heartbeat& said, schema::role r) {
  return std::find(said.roles.begin(), said.roles.end(), r) != said.roles.end();
}

/// Only equal ones may exchange KV: otherwise what decode reads is not what it would have computed.
bool fit(const schema::heartbeat& a, const schema::heartbeat& b) {
  return a.model_digest == b.model_digest && a.numerics_id == b.numerics_id
         && a.kv_geometry == b.kv_geometry && a.version == b.version;
}

/// Gateways have no numerics and no KV. Another version would overlook what a session asks for.
bool serves_us(const schema::heartbeat& node, const schema::heartbeat& us) {
  return node.model_digest == us.model_digest && node.version == us.version;
}

/// @returns How two nodes that do not fit differ, for people.
std::string difference(const schema::heartbeat& a, const schema::heartbeat& b) {
  std::string what = "numerics or KV layout";
  if (a.version != b.version)
    what = "version: " + a.version + " is not " + b.version;
  else if (a.model_digest != b.model_digest)
    what = "model";
  return "node " + a.node + " and node " + b.node + " differ in " + what;
}

} // namespace

void directory_state::beat() {
  auto said = how->identity;
  said.queued_tokens = how->load->queued_tokens;
  said.running_rows = how->load->running_rows;
  said.blocks_free = how->load->blocks_free;
  said.blocks_capacity = how->load->blocks_capacity;
  said.sequence = ++sequence;
  const auto& self = how->post.self();
  for (node_index node = 0; node < how->node_names.size(); ++node)
    if (node != self.node)
      how->post.send({node, 0}, schema::role::directory, {self, 0, 0}, 0, said);
  schema::header own;
  own.from = self;
  hear(own, said);
  tell(members->tick(how->time->now()));
  how->probe.peers_alive(members->alive_count());
  how->probe.heartbeats_missed(members->missed() - missed_reported);
  missed_reported = members->missed();
  if (how->health != nullptr)
    report_health();
}

void directory_state::report_health() {
  how->health->went_round(how->time->now());
  auto someone = [this](schema::role r) {
    return std::any_of(nodes.begin(), nodes.end(), [this, r](const auto& each) {
      return members->alive(each.first) && each.second.said.ready && plays(each.second.said, r);
    });
  };
  bool gateway = plays(how->identity, schema::role::gateway);
  if (gateway && !someone(schema::role::decode))
    how->health->set_unready("no live decode node");
  else if (gateway && !someone(schema::role::prefill))
    how->health->set_unready("no live prefill node");
  else
    how->health->set_ready();
}

void directory_state::hear(const schema::header& h, const schema::heartbeat& said) {
  if (h.from.node >= how->node_names.size() || said.node != how->node_names[h.from.node]) {
    log::warn("heartbeat_from_stranger", {{"node", said.node}, {"index", h.from.node}});
    return;
  }
  auto events = members->observe(h.from.node, h.from.incarnation, said.sequence, how->time->now());
  if (members->incarnation(h.from.node) != h.from.incarnation)
    return; // An earlier start.
  tell(events);
  auto came_up = [](const auto& e) { return e.what == cluster::membership_event::kind::up; };
  nodes[h.from.node] = {h.from, said};
  if (!std::any_of(events.begin(), events.end(), came_up))
    return;
  log::info("node_up", {{"node", said.node}, {"incarnation", h.from.incarnation}});
  if (plays(said, schema::role::prefill) && plays(how->identity, schema::role::decode)) {
    schema::header forward = h;
    forward.to = how->post.self();
    forward.to_role = schema::role::decode;
    how->post.forward(forward, said);
  }
}

void directory_state::tell(const std::vector<cluster::membership_event>& events) {
  for (const auto& e : events) {
    if (e.what == cluster::membership_event::kind::up)
      continue;
    log::warn("node_down", {{"node", how->node_names[e.node]}, {"incarnation", e.incarnation}});
    const auto& self = how->post.self();
    for (auto role : how->identity.roles)
      how->post.send(self, role, {self, 0, 0}, 0, schema::peer_down{{e.node, e.incarnation}});
  }
}

std::vector<cluster::candidate> directory_state::candidates() {
  const schema::heartbeat* decode = nullptr;
  for (const auto& [node, k] : nodes)
    if (decode == nullptr && members->alive(node) && k.said.ready
        && plays(k.said, schema::role::decode) && serves_us(k.said, how->identity))
      decode = &k.said;
  misfit.clear();
  std::vector<cluster::candidate> all;
  for (const auto& [node, k] : nodes) {
    cluster::candidate c;
    if (plays(k.said, schema::role::prefill))
      c.roles.add(cluster::role::prefill);
    if (plays(k.said, schema::role::decode))
      c.roles.add(cluster::role::decode);
    if (c.roles.empty() || !members->alive(node))
      continue;
    const bool ours = serves_us(k.said, how->identity);
    if (!ours || (decode != nullptr && !fit(k.said, *decode))) {
      const auto& with = ours ? *decode : how->identity;
      misfit = difference(k.said, with);
      if (complained.insert(k.ref).second)
        log::error("node_incompatible",
                   {{"node", k.said.node},
                    {"with", with.node},
                    {"what", misfit},
                    {"hint", "model, numerics, KV layout and version must be equal"}});
      continue;
    }
    c.node = node;
    c.incarnation = k.ref.incarnation;
    c.ready = k.said.ready;
    c.queued_tokens = k.said.queued_tokens;
    c.running_rows = k.said.running_rows;
    c.rows_max = how->rows_max;
    c.blocks_free = k.said.blocks_free;
    c.blocks_capacity = k.said.blocks_capacity;
    c.block_tokens = how->block_tokens;
    all.push_back(c);
  }
  return all;
}

void directory_state::place(const schema::header& h, const schema::place& m) {
  std::vector<cluster::node_start> avoid;
  for (const auto& a : m.avoid)
    avoid.push_back({a.node, a.incarnation});
  auto view = candidates();
  auto found = cluster::place(view, {m.prompt_tokens, m.tokens_max, avoid});
  auto key = key_of(how->post.self(), h);
  if (!found) {
    auto detail = found.err().detail;
    if (found.err().code == errc::unavailable && !misfit.empty())
      detail += "; " + misfit;
    how->post.to_session(key, h.budget_us, schema::refused{found.err().code, detail, 0});
    return;
  }
  auto ref = [](const cluster::node_start& n) { return schema::node_ref{n.node, n.incarnation}; };
  how->post.to_session(key, h.budget_us, schema::placed{ref(found->prefill), ref(found->decode)});
}

caf::behavior directory(caf::stateful_actor<directory_state>* self, directory_setup how) {
  auto& state = self->state;
  state.members.emplace(static_cast<uint32_t>(how.node_names.size()), how.dead_after_us);
  state.how.emplace(std::move(how));
  self->send(self, tick_atom_v);
  return {
    [self](const schema::message& m) {
      auto e = schema::decode(m);
      if (!e)
        return;
      if (const auto* said = std::get_if<schema::heartbeat>(&e->body))
        self->state.hear(e->header, *said);
      else if (const auto* place = std::get_if<schema::place>(&e->body))
        self->state.place(e->header, *place);
    },
    [self](tick_atom) {
      self->state.beat();
      self->delayed_send(self, self->state.how->beat_every, tick_atom_v);
    },
  };
}

} // namespace penstock::actors
