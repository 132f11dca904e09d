#include "apps/node.hpp"

#include "actors/caf_link.hpp"
#include "actors/node.hpp"
#include "actors/node_system.hpp"
#include "apps/builtin_model.hpp"
#include "apps/compute_parts.hpp"
#include "apps/ready_signal.hpp"
#include "base/log.hpp"
#include "fabric/host_identity.hpp"
#include "ops/health.hpp"
#include "ops/metrics.hpp"
#include "ops/probes.hpp"
#include "ops/status_server.hpp"
#include "schema/rpc_server.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace penstock::apps {

namespace {

/// Bookings and prompts that wait on a compute node. Admission bounds what gateways send.
constexpr uint32_t node_queue_max = 1024;

/// Later starts are larger: wall-clock microseconds.
incarnation_id new_incarnation() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<incarnation_id>(now.tv_sec) * 1'000'000
         + static_cast<incarnation_id>(now.tv_nsec) / 1000;
}

std::vector<schema::role> roles_of(const cluster::role_set& roles) {
  std::vector<schema::role> out;
  if (roles.gateway)
    out.push_back(schema::role::gateway);
  if (roles.prefill)
    out.push_back(schema::role::prefill);
  if (roles.decode)
    out.push_back(schema::role::decode);
  return out;
}

} // namespace

struct node_process::parts {
  cluster::cluster_config config;
  cluster::node_plan plan;
  node_index index = 0;
  steady_clock time;
  ops::health health{time.now()};
  ops::metrics metrics;
  ops::probes probes;
  std::unique_ptr<ops::status_server> status;
  std::unique_ptr<model::loaded_model> model;
  std::unique_ptr<compute_parts> compute;
  std::unique_ptr<actors::node_system> system;
  std::unique_ptr<actors::node> node;
  std::unique_ptr<actors::gateway_service> service;
  std::unique_ptr<schema::rpc_server> rpc;
  bool stopped = false;

  [[nodiscard]] const cluster::node_config& self() const { return config.nodes[index]; }

  result<void> load();
  void make_probes();
  result<void> serve_status();
  actors::node_parts node_parts(const schema::node_ref& me);
  actors::gateway_part gateway_part(std::shared_ptr<const actors::guardrail_rules> rules);
  actors::prefill_part prefill_part();
  actors::decode_part decode_part();
  result<void> start_actors();
  result<void> start_rpc();
};

result<void> node_process::parts::load() {
  auto directory = model_directory(self().model);
  if (!directory)
    return directory.err();
  auto loaded = model::load_model(*directory);
  if (!loaded)
    return loaded.err();
  model = std::move(*loaded);
  if (!plan.roles.computes())
    return {};
  auto made = compute_parts::make(config, plan, *model, time);
  if (!made)
    return made.err();
  compute = std::move(*made);
  return {};
}

void node_process::parts::make_probes() {
  ops::node_identity who;
  who.name = self().name;
  who.roles = plan.roles.text();
  who.version = PENSTOCK_VERSION;
  who.numerics = compute ? compute->device->numerics_id() : "";
  who.start_seconds = static_cast<double>(new_incarnation()) * 1e-6;
  who.restarts = ops::restarts_from(std::getenv(restarts_variable));
  probes = ops::probes{metrics, who};
}

result<void> node_process::parts::serve_status() {
  if (!self().metrics)
    return {};
  auto page = [this](bool ops::health_view::*good) {
    auto now = health.view(time.now());
    return ops::status_page{now.*good ? 200 : 503, "application/json", ops::to_json(now) + '\n'};
  };
  ops::status_server::pages shown;
  shown["/metrics"] = [this] { return ops::status_page{200, ops::metrics_type, metrics.text()}; };
  shown["/healthz"] = [page] { return page(&ops::health_view::alive); };
  shown["/readyz"] = [page] { return page(&ops::health_view::ready); };
  auto serving = ops::status_server::start(self().metrics->text(), std::move(shown));
  if (!serving)
    return serving.err();
  status = std::move(*serving);
  return {};
}

actors::gateway_part
node_process::parts::gateway_part(std::shared_ptr<const actors::guardrail_rules> rules) {
  actors::gateway_part g;
  auto& w = g.world;
  w.time = &time;
  w.tokens = &model->tokenizer;
  w.probe = probes.session;
  w.model = model->name;
  w.context_tokens = model->config.context;
  w.end_ids = model->config.eos;
  for (const auto& n : config.nodes)
    w.node_names.push_back(n.name);
  w.tokens_max = config.request.tokens_max;
  w.budget_us_max = uint64_t{config.request.budget_ms_max} * 1000;
  w.tenants_apart = config.tenants_apart;
  g.admission.tokens_in_flight_max
    = static_cast<uint32_t>(std::min<uint64_t>(config.admission.tokens_in_flight_max, UINT32_MAX));
  g.admission.queue_max = config.admission.queue_max;
  g.admission.queue_wait_us_max = uint64_t{config.admission.queue_wait_ms_max} * 1000;
  g.admission_probe = probes.admission;
  g.rules = std::move(rules);
  g.guardrail_probe = probes.guardrail;
  return g;
}

actors::prefill_part node_process::parts::prefill_part() {
  actors::prefill_part p;
  p.device = compute->device.get();
  p.pin_device = compute->pin();
  p.pool = compute->pool.get();
  p.cache = compute->cache.get();
  p.limits = {compute->options.row_slots, compute->options.step_tokens_max, node_queue_max,
              compute->options.block_tokens};
  p.probe = probes.prefill;
  p.kv = probes.prefill_pool;
  return p;
}

actors::decode_part node_process::parts::decode_part() {
  actors::decode_part d;
  d.device = compute->device.get();
  d.pin_device = compute->pin();
  d.pool = compute->pool.get();
  d.cache = compute->cache.get();
  d.limits = {compute->options.row_slots, node_queue_max, compute->options.context_max,
              compute->options.block_tokens};
  auto& m = d.mover;
  m.device = d.device;
  m.scratch = compute->scratch;
  for (const auto& t : compute->transports)
    m.transports.push_back(t.get());
  m.wanted = config.fabric.transport;
  m.host = fabric::host_identity();
  m.limits = transfer_limits_of(config.fabric);
  m.time = &time;
  m.probe_for = [this](std::string_view name) { return probes.transfer(name); };
  d.probe = probes.decode;
  d.kv = probes.decode_pool;
  return d;
}

actors::node_parts node_process::parts::node_parts(const schema::node_ref& me) {
  actors::node_parts n;
  n.self = me;
  for (const auto& other : config.nodes) {
    bool here = other.name == self().name;
    n.node_names.push_back(other.name);
    n.links.push_back(here ? nullptr
                           : actors::make_caf_link(other.listen.address, other.listen.port));
    n.rows_max = std::max(n.rows_max, other.roles.decode ? other.rows_max : 1);
  }
  n.identity.node = self().name;
  n.identity.version = PENSTOCK_VERSION "+wire" + std::to_string(schema::wire_version);
  n.identity.roles = roles_of(plan.roles);
  n.identity.ready = true;
  n.identity.model_digest = model->digest.hex();
  if (compute) {
    n.identity.numerics_id = compute->device->numerics_id();
    n.identity.kv_geometry = compute->geometry();
    n.identity.kv_source = compute->descriptors;
    n.identity.kv_source_blocks = compute->options.blocks;
  }
  n.block_tokens = self().block_tokens;
  n.dead_after_us = uint64_t{config.membership.dead_after_ms} * 1000;
  n.beat_every = std::chrono::milliseconds{config.membership.heartbeat_ms};
  n.time = &time;
  n.probe = probes.node;
  n.health = &health;
  return n;
}

result<void> node_process::parts::start_actors() {
  schema::node_ref me{index, new_incarnation()};
  auto n = node_parts(me);
  if (plan.roles.gateway) {
    std::vector<actors::guardrail_rule> rules;
    for (const auto& r : config.guardrail.rules)
      rules.push_back({r.name, r.pattern});
    bool allow = config.guardrail.on_timeout == cluster::timeout_policy::allow;
    auto compiled
      = actors::guardrail_rules::compile(rules, {config.guardrail.budget_us, allow}, time);
    if (!compiled)
      return compiled.err();
    n.gateway = gateway_part(std::make_shared<const actors::guardrail_rules>(std::move(*compiled)));
  }
  if (plan.roles.prefill)
    n.prefill = prefill_part();
  if (plan.roles.decode)
    n.decode = decode_part();
  system = std::make_unique<actors::node_system>();
  node = std::make_unique<actors::node>(system->caf(), std::move(n));
  system->watch(node->actors());
  return system->publish(node->router(), self().listen.address, self().listen.port);
}

result<void> node_process::parts::start_rpc() {
  if (!plan.roles.gateway)
    return {};
  schema::service_info info{PENSTOCK_VERSION, model->name, model->digest.hex(),
                            model->config.context, ""};
  service = std::make_unique<actors::gateway_service>(node->gateway(), node->world(), info);
  schema::rpc_server_options how;
  how.address = self().rpc->text();
  rpc = std::make_unique<schema::rpc_server>(*service, how);
  auto port = rpc->start();
  return port ? result<void>{} : result<void>{port.err()};
}

result<std::unique_ptr<node_process>> node_process::start(const cluster::cluster_config& config,
                                                          const cluster::plan& plan,
                                                          node_index index) {
  auto p = std::make_unique<parts>();
  p->config = config;
  p->plan = plan.nodes[index];
  p->index = index;
  actors::pin_to_core(p->plan.service_core); // Threads started from here on inherit it.
  auto started = p->load();
  if (started) {
    p->make_probes();
    started = p->serve_status();
  }
  if (started)
    started = p->start_actors();
  if (started)
    started = p->start_rpc();
  std::unique_ptr<node_process> node{new node_process{std::move(p)}};
  if (!started)
    return started.err();
  auto& own = *node->parts_;
  log::info("node_started", {{"roles", own.plan.roles.text()},
                             {"listen", own.self().listen.text()},
                             {"model", own.model->name},
                             {"digest", own.model->digest.hex()}});
  return node;
}

node_process::node_process(std::unique_ptr<parts> p) : parts_(std::move(p)) {}

node_process::~node_process() {
  stop();
}

void node_process::stop() {
  auto& p = *parts_;
  if (std::exchange(p.stopped, true))
    return;
  p.health.set_draining();
  if (p.system)
    p.system->expect_the_end();
  if (p.rpc)
    p.rpc->stop();
  p.rpc.reset();
  p.service.reset();
  if (p.node)
    p.node->stop();
  p.system.reset(); // Waits for every actor.
  p.node.reset();
  p.compute.reset();
}

} // namespace penstock::apps
