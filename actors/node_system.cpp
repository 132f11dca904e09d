#include "actors/node_system.hpp"

#include "actors/protocol.hpp"
#include "base/log.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace penstock::actors {

namespace {

/// Pooled actors share the service core: one may compute a digest while another routes.
constexpr size_t worker_threads = 2;

struct system_config : caf::actor_system_config {
  system_config() {
    load<caf::io::middleman>();
    add_message_type<schema::message>("penstock_message");
    set("scheduler.policy", caf::atom("sharing")); // Stealing polls: 3 % of a core when idle.
    set("scheduler.max-threads", worker_threads);
  }
};

} // namespace

struct node_system::state {
  system_config config;
  caf::actor_system system{config};
  std::atomic<bool> ending{false};
  caf::actor watcher;
};

node_system::node_system() : state_(std::make_unique<state>()) {}

node_system::~node_system() {
  expect_the_end();
  caf::anon_send_exit(state_->watcher, caf::exit_reason::kill);
  state_->watcher = nullptr;
}

caf::actor_system& node_system::caf() {
  return state_->system;
}

result<void> node_system::publish(const caf::actor& router, const std::string& address,
                                  uint16_t port) {
  auto bound = state_->system.middleman().publish(router, port, address.c_str(), true);
  if (bound)
    return {};
  return error{errc::io_failed, "cannot listen on " + address + ":" + std::to_string(port)
                                  + " for other nodes: " + caf::to_string(bound.error())};
}

void node_system::watch(const std::vector<caf::actor>& all) {
  auto* ending = &state_->ending; // Outlives the watcher: the system waits for it.
  state_->watcher = state_->system.spawn([all, ending](caf::event_based_actor* self) {
    self->set_down_handler([ending](const caf::down_msg& down) {
      if (ending->load())
        return;
      log::error("actor_died", {{"reason", caf::to_string(down.reason)}});
      kill(getpid(), SIGUSR1);
    });
    for (const auto& a : all)
      self->monitor(a);
    return caf::behavior{[](wake_atom) {}};
  });
}

void node_system::expect_the_end() {
  state_->ending = true;
}

void pin_to_core(uint32_t core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    log::warn("core_not_pinned", {{"core", core}});
}

} // namespace penstock::actors
