#include "cluster/membership.hpp"

#include "base/check.hpp"

#include <algorithm>

namespace penstock::cluster {

membership::membership(uint32_t node_count, uint64_t dead_after_us)
  : members_(node_count), dead_after_us_(dead_after_us) {
  PS_CHECK(dead_after_us > 0);
}

std::vector<membership_event> membership::observe(node_index node, incarnation_id incarnation,
                                                  uint64_t sequence, time_us now) {
  now_ = std::max(now_, now);
  std::vector<membership_event> out;
  if (node >= members_.size() || incarnation == 0)
    return out;
  member& m = members_[node];
  if (incarnation < m.incarnation || (incarnation == m.incarnation && sequence <= m.sequence))
    return out;
  if (incarnation > m.incarnation) {
    if (m.incarnation != 0)
      out.push_back({membership_event::kind::replaced, node, m.incarnation});
    m.incarnation = incarnation;
    m.alive = false;
  } else if (m.alive) {
    missed_ += sequence - m.sequence - 1; // Lost, or still to come out of order.
  }
  m.sequence = sequence;
  m.heard = now_;
  if (!m.alive)
    out.push_back({membership_event::kind::up, node, incarnation});
  m.alive = true;
  return out;
}

std::vector<membership_event> membership::tick(time_us now) {
  now_ = std::max(now_, now);
  std::vector<membership_event> out;
  for (node_index i = 0; i < members_.size(); ++i) {
    member& m = members_[i];
    if (!m.alive || now_ - m.heard < dead_after_us_)
      continue;
    m.alive = false;
    out.push_back({membership_event::kind::down, i, m.incarnation});
  }
  return out;
}

bool membership::alive(node_index node) const noexcept {
  return node < members_.size() && members_[node].alive;
}

incarnation_id membership::incarnation(node_index node) const noexcept {
  return node < members_.size() ? members_[node].incarnation : 0;
}

uint32_t membership::alive_count() const noexcept {
  return static_cast<uint32_t>(
    std::count_if(members_.begin(), members_.end(), [](const member& m) { return m.alive; }));
}

} // namespace penstock::cluster
