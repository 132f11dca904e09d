#include "apps/compute_parts.hpp"

#include "fabric/descriptor_set.hpp"
#include "fabric/generation_table.hpp"
#include "fabric/host_identity.hpp"
#include "fabric/make_transport.hpp"
#include "gpu/kernels.hpp"

#include <cstring>

namespace penstock::apps {

namespace {

/// Rows a prefill device holds at once: prompts in chunks, side by side.
constexpr uint32_t prefill_rows = 16;
/// Transfers beyond the rows of the batch: those being dropped still hold scratch.
constexpr uint32_t transfers_spare = 8;
constexpr std::string_view default_provider = "tcp;ofi_rxm";

gpu::host_options options_of(const cluster::node_config& node, const cluster::node_plan& plan,
                             const model::model_config& model) {
  gpu::host_options o;
  o.cores = plan.compute_cores;
  o.threads = std::max<uint32_t>(1, static_cast<uint32_t>(plan.compute_cores.size()));
  o.row_slots = node.roles.decode ? node.rows_max : prefill_rows;
  o.step_tokens_max = node.roles.decode ? node.rows_max : node.step_tokens_max;
  o.context_max = model.context;
  o.block_tokens = node.block_tokens;
  o.blocks = plan.kv_blocks;
  return o;
}

/// Every way to move KV that this node may need: mapped memory and one libfabric provider, unless
/// the cluster file insists on one.
result<void> add_transports(compute_parts& parts, const std::string& wanted,
                            const std::string& bind_address) {
  std::vector<std::string> kinds{wanted};
  if (wanted == "auto")
    kinds = {"mapped", std::string{default_provider}};
  fabric::transport_options how;
  how.memory = &parts.memory;
  how.bind_address = bind_address;
  for (const auto& kind : kinds) {
    auto made = fabric::make_transport(kind, how);
    if (!made)
      return made.err();
    parts.transports.push_back(std::move(*made));
  }
  return {};
}

result<void> open_memory(compute_parts& parts, bool serves) {
  auto memory = parts.memory.bytes();
  if (!serves) {
    for (auto& t : parts.transports)
      if (auto done = t->register_destination(memory); !done)
        return done;
    return {};
  }
  fabric::descriptor_set set;
  set.host = fabric::host_identity();
  for (auto& t : parts.transports) {
    auto from = t->serve(memory);
    if (!from)
      return from.err();
    set.entries.push_back({std::string{t->name()}, std::move(*from)});
  }
  parts.descriptors = fabric::encode(set);
  return {};
}

} // namespace

fabric::transfer_limits transfer_limits_of(const cluster::fabric_config& config) {
  fabric::transfer_limits limits;
  limits.bytes_in_flight_max = config.window_bytes;
  limits.reads_in_flight_max = config.reads_max;
  return limits;
}

result<std::unique_ptr<compute_parts>> compute_parts::make(const cluster::cluster_config& config,
                                                           const cluster::node_plan& plan,
                                                           const model::loaded_model& model,
                                                           const clock& time) {
  const auto& node = config.nodes[plan.index];
  auto options = options_of(node, plan, model.config);
  if (auto fine = gpu::check_options(model.config, options); !fine)
    return fine.err();
  auto kernels = gpu::kernels_for(gpu::kernel_path::best);
  if (!kernels)
    return kernels.err();
  auto layout = gpu::layout_of(model.config, options);
  fabric::generation_table table{options.blocks};
  auto served = table.served_bytes(layout.pool_bytes());
  auto reads = transfer_limits_of(config.fabric).reads_in_flight_max;
  auto scratch_bytes
    = node.roles.decode
        ? actors::kv_flows::scratch_bytes_for(2 * options.row_slots + transfers_spare, reads)
        : 0;
  auto scratch_at = (served + fabric::scratch_slot_bytes - 1) / fabric::scratch_slot_bytes
                    * fabric::scratch_slot_bytes;
  auto memory = fabric::shared_memory::create_sealed(scratch_at + scratch_bytes);
  if (!memory)
    return memory.err();
  auto parts = std::make_unique<compute_parts>(
    compute_parts{options, std::move(*memory), {}, {}, nullptr, nullptr, nullptr, nullptr, {}, {}});
  auto bytes = parts->memory.bytes();
  parts->pool_bytes = bytes.subspan(table.pool_offset(), layout.pool_bytes());
  parts->scratch = bytes.subspan(scratch_at, scratch_bytes);
  parts->pool = std::make_unique<gpu::block_pool>(table.entries(bytes));
  parts->tier = std::make_unique<gpu::host_tier>(gpu::block_copier{parts->pool_bytes, layout},
                                                 node.host_cache_bytes);
  parts->cache
    = std::make_unique<gpu::prefix_cache>(*parts->pool, options.block_tokens, parts->tier.get());
  parts->device = std::make_unique<gpu::host_device>(model.config, model.weights, options,
                                                     parts->pool_bytes, **kernels, time);
  if (auto done = add_transports(*parts, config.fabric.transport, node.listen.address); !done)
    return done.err();
  if (auto done = open_memory(*parts, node.roles.prefill); !done)
    return done.err();
  return parts;
}

std::function<void()> compute_parts::pin() const {
  if (options.cores.empty())
    return {};
  return [core = options.cores.front()] { gpu::pin_this_thread(core); };
}

std::vector<std::byte> compute_parts::geometry() const {
  auto layout = device->layout();
  std::array<uint32_t, 5> words{layout.layers, layout.kv_heads, layout.head_dim,
                                layout.block_tokens, static_cast<uint32_t>(layout.dtype)};
  auto bytes = std::as_bytes(std::span{words});
  return {bytes.begin(), bytes.end()};
}

} // namespace penstock::apps
