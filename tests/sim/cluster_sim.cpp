#include "tests/sim/cluster_sim.hpp"

#include "base/log.hpp"
#include "fabric/descriptor_set.hpp"
#include "fabric/generation_table.hpp"

#include <algorithm>

namespace penstock::sim {

namespace {

constexpr uint64_t quantum_us = 1000;
constexpr uint32_t block_tokens = oracle.block_tokens;
constexpr uint32_t context_max = 256;
constexpr const char* names[] = {"g0", "p0", "d0"};

model::tokenizer builtin_tokenizer() {
  auto t = model::tokenizer::open(PENSTOCK_SOURCE_DIR "/model/builtin/tokenizer.json");
  PS_CHECK(static_cast<bool>(t));
  return std::move(*t);
}

} // namespace

void client_view::push(std::span<const generated_token> fresh, std::string_view more) {
  text += more;
  pushes_after_end += endings;
  for (const auto& t : fresh)
    tokens.push_back(t.id);
}

void client_view::done(const generate_outcome& o) {
  ++endings;
  outcome = o;
  ended_at = time->now();
}

struct cluster_sim::compute {
  fabric::generation_table table;
  std::vector<uint64_t> memory; // Words, for alignment: [generations][pool][scratch].
  std::span<std::byte> pool_bytes;
  std::span<std::byte> scratch;
  std::unique_ptr<gpu::block_pool> pool;
  std::unique_ptr<gpu::host_tier> tier;
  std::unique_ptr<gpu::prefix_cache> cache;
  std::unique_ptr<gpu::oracle_device> device;
  std::unique_ptr<fabric::local_transport> transport;
  std::vector<std::byte> served; // The descriptor of this memory.

  compute(fabric::local_fabric& on, uint32_t blocks, uint32_t host_blocks,
          const gpu::device_limits& limits, size_t scratch_bytes)
    : table{blocks} {
    auto layout = gpu::oracle_layout(oracle, blocks);
    auto bytes = table.served_bytes(layout.pool_bytes());
    memory.resize((bytes + scratch_bytes) / 8 + 1);
    auto all = std::as_writable_bytes(std::span{memory});
    pool_bytes = all.subspan(table.pool_offset(), layout.pool_bytes());
    scratch = all.subspan(bytes, scratch_bytes);
    pool = std::make_unique<gpu::block_pool>(table.entries(all));
    gpu::block_copier copier{pool_bytes, layout};
    tier = std::make_unique<gpu::host_tier>(copier, host_blocks * copier.block_bytes());
    cache = std::make_unique<gpu::prefix_cache>(*pool, oracle.block_tokens, tier.get());
    device = std::make_unique<gpu::oracle_device>(oracle, limits, blocks, pool_bytes);
    transport = std::make_unique<fabric::local_transport>(on);
    served = *transport->serve(all.first(bytes));
    PS_CHECK(static_cast<bool>(transport->register_destination(all)));
  }
};

cluster_sim::cluster_sim(sim_options options)
  : options_(options), draws_(options.seed), network_(draws_.split(), time_),
    tokenizer_(builtin_tokenizer()),
    jobs_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())) {
  auto rules = actors::guardrail_rules::compile({}, {1000, false}, time_);
  rules_ = std::make_shared<const actors::guardrail_rules>(std::move(*rules));
  log::set_level(log::level::error); // Deaths and losses are what a simulation is for.
  network_.set_faults(options_.network);
  for (node_index n = 0; n < machines_.size(); ++n)
    start(n);
}

cluster_sim::~cluster_sim() {
  for (node_index n = 0; n < machines_.size(); ++n)
    kill(n);
}

actors::node_parts cluster_sim::parts_of(node_index n, const schema::node_ref& me, compute* c) {
  actors::node_parts p;
  p.self = me;
  p.node_names = {names[0], names[1], names[2]};
  for (node_index other = 0; other < machines_.size(); ++other)
    p.links.push_back(other == n ? nullptr : network_.make_link(n, other));
  p.identity.node = names[n];
  p.identity.version = n == decode_node ? options_.decode_version : "sim";
  p.identity.ready = true;
  p.identity.model_digest = "oracle";
  p.rows_max = options_.rows_max;
  p.block_tokens = block_tokens;
  p.time = &time_;
  p.detached = false;
  if (n == gateway_node) {
    p.identity.roles = {schema::role::gateway};
    actors::gateway_part g;
    g.world.time = &time_;
    g.world.tokens = &tokenizer_;
    g.world.model = "oracle";
    g.world.context_tokens = context_max;
    g.world.end_ids = {oracle.end};
    g.world.node_names = p.node_names;
    g.world.tokens_max = context_max;
    g.world.budget_us_max = 60'000'000;
    g.admission = {2000, 64, 30'000'000};
    g.rules = rules_;
    p.gateway = std::move(g);
  } else if (n == prefill_node) {
    p.identity.roles = {schema::role::prefill};
    fabric::descriptor_set set{digest128{1, 1}, {{"local", c->served}}};
    p.identity.kv_source = fabric::encode(set);
    p.identity.kv_source_blocks = c->device->layout().blocks;
    p.prefill
      = actors::prefill_part{c->device.get(),
                             {},
                             c->pool.get(),
                             c->cache.get(),
                             {options_.rows_max, options_.step_tokens_max, 64, block_tokens},
                             {},
                             {}};
  } else {
    p.identity.roles = {schema::role::decode};
    actors::decode_part d;
    d.device = c->device.get();
    d.pool = c->pool.get();
    d.cache = c->cache.get();
    d.limits = {options_.rows_max, 64, context_max, block_tokens};
    d.mover.device = c->device.get();
    d.mover.scratch = c->scratch;
    d.mover.transports = {c->transport.get()};
    d.mover.wanted = "local";
    d.mover.host = {1, 1};
    d.mover.limits.reads_in_flight_max = 4;
    d.mover.time = &time_;
    d.mover.probe_for = [](std::string_view) { return ops::transfer_probe{}; };
    p.decode = std::move(d);
  }
  return p;
}

void cluster_sim::start(node_index n) {
  auto& m = machines_[n];
  PS_CHECK(!m.node);
  m.incarnation = m.incarnation == 0 ? 1 + n : m.incarnation + 10;
  schema::node_ref me{n, m.incarnation};
  if (n != gateway_node) {
    auto blocks = n == prefill_node ? options_.prefill_blocks : options_.decode_blocks;
    gpu::device_limits limits{options_.rows_max, options_.step_tokens_max, context_max};
    auto scratch = actors::kv_flows::scratch_bytes_for(2 * options_.rows_max, 4);
    m.parts = std::make_unique<compute>(fabric_, blocks, options_.host_blocks, limits, scratch);
  }
  m.node = std::make_unique<actors::node>(system_, parts_of(n, me, m.parts.get()));
  network_.set_router(n, m.node->router());
  if (n == gateway_node)
    m.service = std::make_unique<actors::gateway_service>(m.node->gateway(), m.node->world(),
                                                          schema::service_info{});
}

void cluster_sim::kill(node_index n) {
  auto& m = machines_[n];
  if (!m.node)
    return;
  network_.set_router(n, nullptr);
  if (m.parts)
    fabric_.kill(m.parts->served);
  m.node->stop();
  while (jobs_.try_run_once()) {
  }
  m.service.reset();
  m.node.reset();
  m.parts.reset(); // Checks that every lease came back.
}

std::shared_ptr<client_view> cluster_sim::ask(std::vector<token_id> prompt,
                                              const sampling_params& sampling, uint64_t budget_us) {
  generate_request what;
  what.prompt_ids = std::move(prompt);
  what.sampling = sampling;
  what.budget_us = budget_us;
  return ask(std::move(what));
}

std::shared_ptr<client_view> cluster_sim::ask(generate_request what) {
  auto view = std::make_shared<client_view>();
  view->time = &time_;
  view->asked = std::move(what);
  view->asked_at = time_.now();
  view->id = machines_[gateway_node].service->generate(view->asked, view);
  clients_.push_back(view);
  return view;
}

void cluster_sim::cancel(const client_view& who) {
  machines_[gateway_node].service->cancel(who.id);
}

void cluster_sim::heal() {
  network_.set_faults({});
  for (node_index a = 0; a < machines_.size(); ++a)
    for (node_index b = 0; b < machines_.size(); ++b)
      network_.cut(a, b, false);
  options_.bad_reads = 0;
}

gpu::block_counts cluster_sim::blocks(node_index n) const {
  const auto& m = machines_[n];
  return m.parts ? m.parts->pool->counts() : gpu::block_counts{};
}

gpu::prefix_cache_counts cluster_sim::cache(node_index n) const {
  const auto& m = machines_[n];
  return m.parts ? m.parts->cache->counts() : gpu::prefix_cache_counts{};
}

void cluster_sim::forget_cached(node_index n) {
  machines_[n].parts->cache->clear();
}

void cluster_sim::run_one_job() {
  auto& queue = jobs_.jobs;
  auto chosen = draws_.below(queue.size());
  note(chosen);
  ++messages_;
  std::rotate(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(chosen),
              queue.begin() + static_cast<std::ptrdiff_t>(chosen) + 1);
  jobs_.run_once();
}

void cluster_sim::deliver_one_read() {
  using kind = fabric::delivery::kind;
  fabric::delivery how;
  if (draws_.below(1000) < options_.bad_reads) {
    constexpr kind bad[]
      = {kind::failed, kind::partial, kind::truncated, kind::flipped, kind::lost};
    how.how = bad[draws_.below(std::size(bad))];
  }
  auto index = draws_.below(fabric_.pending_count());
  note(index * 8 + static_cast<uint64_t>(how.how));
  fabric_.deliver_one(index, how);
}

void cluster_sim::let_time_pass() {
  time_.advance(quantum_us);
  jobs_.advance_time(std::chrono::microseconds{quantum_us});
  note(network_.deliver());
}

void cluster_sim::turn() {
  bool reads = fabric_.pending_count() > 0;
  if (!jobs_.jobs.empty() && (!reads || draws_.below(4) > 0))
    run_one_job();
  else if (reads)
    deliver_one_read();
  else
    let_time_pass();
  for (const auto& m : machines_)
    if (m.parts) {
      auto c = m.parts->pool->counts();
      blocks_added_up_
        = blocks_added_up_ && c.free + c.leased + c.cached + c.quarantined == c.capacity;
    }
}

void cluster_sim::run_messages(uint64_t count, uint64_t us_max) {
  auto until = time_.now() + us_max;
  auto last = messages_ + count;
  while (messages_ < last && time_.now() < until)
    turn();
}

void cluster_sim::run_for(uint64_t us) {
  auto until = time_.now() + us;
  while (time_.now() < until)
    turn();
  for (const auto& c : clients_)
    note(c->tokens.size() * 2 + c->endings);
}

} // namespace penstock::sim
