#include "actors/caf_link.hpp"

#include "base/log.hpp"

#include <caf/io/middleman.hpp>
#include <caf/node_id.hpp>
#include <caf/send.hpp>

#include <set>
#include <utility>

namespace penstock::actors {

namespace {

class caf_link final : public link {
public:
  caf_link(std::string host, uint16_t port)
    : line_(std::make_shared<line>()), host_(std::move(host)), port_(port) {}

  bool send(const schema::message& m) override {
    if (!line_->remote)
      return false;
    caf::anon_send(line_->remote, m);
    return true;
  }

  void maintain(caf::event_based_actor& owner) override {
    if (line_->remote || line_->connecting)
      return;
    line_->connecting = true;
    auto to = line_; // Shared with callbacks that may outlive this link.
    auto* self = &owner;
    // The remote router's end is a hint that the connection is gone; heartbeats decide who is dead.
    self->set_down_handler([to](const caf::down_msg& down) {
      if (to->remote && down.source == to->remote)
        to->remote = nullptr;
    });
    self
      ->request(self->system().middleman().actor_handle(), caf::infinite, caf::connect_atom::value,
                host_, port_)
      .then(
        [to, self](const caf::node_id&, caf::strong_actor_ptr& remote,
                   const std::set<std::string>&) {
          to->connecting = false;
          if (!remote)
            return;
          to->remote = caf::actor_cast<caf::actor>(remote);
          self->monitor(to->remote);
        },
        [to](const caf::error&) { to->connecting = false; });
  }

private:
  struct line {
    caf::actor remote;
    bool connecting = false;
  };
  std::shared_ptr<line> line_; // Shared: see maintain().
  std::string host_;
  uint16_t port_;
};

} // namespace

std::unique_ptr<link> make_caf_link(std::string host, uint16_t port) {
  return std::make_unique<caf_link>(std::move(host), port);
}

} // namespace penstock::actors
