#include "actors/node.hpp"

#include "actors/device_actor.hpp"
#include "actors/kv_publisher.hpp"
#include "actors/peer.hpp"
#include "actors/router.hpp"

#include <caf/send.hpp>

namespace penstock::actors {

node::node(caf::actor_system& system, node_parts parts)
  : system_(system), parts_(std::move(parts)) {
  router_ = system_.spawn(actors::router, parts_.self, parts_.probe);
  keep(router_);
  for (node_index n = 0; n < parts_.links.size(); ++n) {
    if (!parts_.links[n])
      continue;
    auto line = std::make_shared<std::unique_ptr<link>>(std::move(parts_.links[n]));
    auto way = system_.spawn(peer, line, parts_.link_every, parts_.probe);
    caf::anon_send(router_, set_peer{n, way});
    keep(way);
  }
  if (parts_.decode)
    start_decode();
  if (parts_.prefill)
    start_prefill();
  if (parts_.gateway)
    start_gateway();
  directory_setup d{{parts_.self, router_}, parts_.node_names,   parts_.identity,
                    parts_.rows_max,        parts_.block_tokens, parts_.dead_after_us,
                    parts_.beat_every,      parts_.time,         &load_,
                    parts_.probe,           parts_.health};
  auto view = system_.spawn(directory, std::move(d));
  caf::anon_send(router_, set_role{schema::role::directory, view});
  keep(view);
}

node::~node() {
  stop();
}

void node::start_gateway() {
  auto& p = *parts_.gateway;
  p.world.post = mail{parts_.self, router_};
  auto door = system_.spawn(
    admission, admission_setup{p.world.post, p.admission, parts_.time, p.admission_probe});
  caf::anon_send(router_, set_role{schema::role::admission, door});
  keep(door);
  auto rules = system_.spawn(guardrail, guardrail_setup{p.world.post, p.rules, p.guardrail_probe});
  caf::anon_send(router_, set_role{schema::role::guardrail, rules});
  keep(rules);
  gateway_ = system_.spawn(actors::gateway, static_cast<const session_world*>(&p.world));
  caf::anon_send(router_, set_role{schema::role::gateway, gateway_});
  keep(gateway_);
}

void node::report_capacity(const gpu::block_pool& pool) {
  // Before the first heartbeat: a node that says it has no blocks would be refused as too small.
  load_.blocks_capacity = pool.capacity();
  load_.blocks_free = pool.capacity();
}

std::function<caf::actor(const caf::actor& owner)> node::device_spawner(gpu::device* device,
                                                                        std::function<void()> pin) {
  step_watch watch{parts_.health, parts_.time};
  return [&system = system_, device, pin = std::move(pin), watch,
          alone = parts_.detached](const caf::actor& owner) {
    return alone ? system.spawn<caf::detached>(device_actor, device, owner, pin, watch)
                 : system.spawn(device_actor, device, owner, pin, watch);
  };
}

void node::start_prefill() {
  auto& p = *parts_.prefill;
  report_capacity(*p.pool);
  auto& system = system_;
  mail post{parts_.self, router_};
  prefill_setup how{post, p.limits, p.pool, p.cache, parts_.time, &load_, p.probe, p.kv, {}, {}};
  how.spawn_device = device_spawner(p.device, p.pin_device);
  how.spawn_publisher
    = [&system, post, device = p.device] { return system.spawn(kv_publisher, post, device); };
  auto role = system_.spawn(actors::prefill, std::move(how));
  caf::anon_send(router_, set_role{schema::role::prefill, role});
  keep(role);
}

void node::start_decode() {
  auto& p = *parts_.decode;
  report_capacity(*p.pool);
  auto& system = system_;
  mail post{parts_.self, router_};
  decode_setup how{post, p.limits, p.pool, p.cache, parts_.time, &load_, p.probe, p.kv, {}, {}};
  how.spawn_device = device_spawner(p.device, p.pin_device);
  how.spawn_mover
    = [&system, setup = p.mover, alone = parts_.detached](const caf::actor& owner) mutable {
        setup.owner = owner;
        return alone ? system.spawn<caf::detached>(kv_mover, setup) : system.spawn(kv_mover, setup);
      };
  auto role = system_.spawn(actors::decode, std::move(how));
  caf::anon_send(router_, set_role{schema::role::decode, role});
  keep(role);
}

void node::stop() {
  for (auto at = all_.rbegin(); at != all_.rend(); ++at)
    caf::anon_send_exit(*at, caf::exit_reason::kill);
}

} // namespace penstock::actors
