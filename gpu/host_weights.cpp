#include "gpu/host_weights.hpp"

#include "base/check.hpp"

#include <array>

namespace penstock::gpu {

namespace {

template <size_t N>
size_t packed_bytes(const std::array<model::tensor_view, N>& sources) {
  uint32_t rows = 0;
  for (const auto& source : sources)
    rows += static_cast<uint32_t>(source.dims[0]);
  return packed_matrix::bytes_for(rows, static_cast<uint32_t>(sources[0].dims[1]),
                                  packed_dtype(sources));
}

template <size_t N>
packed_matrix packed(const std::array<model::tensor_view, N>& sources) {
  return packed_matrix{std::span{sources}};
}

} // namespace

host_weights::host_weights(const model::model_config& config, const model::weights& source)
  : embedding_(source.embed), final_norm_(model::widened(source.final_norm)),
    head_(packed(std::array{source.lm_head})) {
  PS_CHECK(source.layers.size() == config.layers);
  PS_CHECK(head_.rows() == config.vocab && head_.depth() == config.hidden);
  layers_.reserve(config.layers);
  for (const auto& layer : source.layers) {
    host_layer out;
    out.attn_norm = model::widened(layer.attn_norm);
    out.qkv = packed(std::array{layer.q, layer.k, layer.v});
    out.o = packed(std::array{layer.o});
    out.mlp_norm = model::widened(layer.mlp_norm);
    out.gate_up = packed(std::array{layer.gate, layer.up});
    out.down = packed(std::array{layer.down});
    layers_.push_back(std::move(out));
  }
}

size_t host_weights::bytes_for(const model::model_config& config, const model::weights& source) {
  const size_t norm_bytes = (size_t{2} * config.layers + 1) * config.hidden * sizeof(float);
  size_t bytes = norm_bytes + packed_bytes(std::array{source.lm_head});
  for (const auto& layer : source.layers)
    bytes += packed_bytes(std::array{layer.q, layer.k, layer.v}) + packed_bytes(std::array{layer.o})
             + packed_bytes(std::array{layer.gate, layer.up})
             + packed_bytes(std::array{layer.down});
  return bytes;
}

} // namespace penstock::gpu
