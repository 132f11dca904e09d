#include "tests/sim/sim_network.hpp"

#include <caf/send.hpp>

namespace penstock::sim {

namespace {

/// One way on a healthy network.
constexpr uint64_t hop_us = 100;

class sim_link final : public actors::link {
public:
  sim_link(sim_network& net, node_index from, node_index to) : net_(net), from_(from), to_(to) {}
  bool send(const schema::message& m) override {
    net_.send(from_, to_, m);
    return true;
  }
  void maintain(caf::event_based_actor&) override {}

private:
  sim_network& net_;
  node_index from_;
  node_index to_;
};

} // namespace

void sim_network::cut(node_index from, node_index to, bool yes) {
  if (yes)
    cuts_.insert({from, to});
  else
    cuts_.erase({from, to});
}

void sim_network::post(uint64_t late_us, node_index to, const schema::message& m) {
  waiting_.emplace(time_.now() + hop_us + late_us, parcel{to, m});
}

void sim_network::send(node_index from, node_index to, const schema::message& m) {
  if (cuts_.contains({from, to}) || draws_.below(1000) < faults_.drop)
    return;
  auto late = [this] {
    return draws_.below(1000) < faults_.delay ? draws_.below(faults_.delay_us_max) : 0;
  };
  post(late(), to, m);
  if (draws_.below(1000) < faults_.duplicate)
    post(late() + draws_.below(1000), to, m);
}

size_t sim_network::deliver() {
  size_t count = 0;
  while (!waiting_.empty() && waiting_.begin()->first <= time_.now()) {
    auto due = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    if (auto& router = routers_[due.to]) {
      caf::anon_send(router, due.what);
      ++count;
    }
  }
  return count;
}

std::unique_ptr<actors::link> sim_network::make_link(node_index from, node_index to) {
  return std::make_unique<sim_link>(*this, from, to);
}

} // namespace penstock::sim
