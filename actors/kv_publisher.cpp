#include "actors/kv_publisher.hpp"

#include "base/digest.hpp"

namespace penstock::actors {

caf::behavior kv_publisher(caf::event_based_actor*, mail post, gpu::device* device) {
  return {
    [post, device](kv_publish& p) {
      const auto& layout = device->layout();
      auto pool = device->pool();
      schema::published out;
      out.first_index = p.first_index;
      out.source_blocks = std::move(p.blocks);
      out.generations = std::move(p.generations);
      out.last = p.last;
      out.digests.reserve(out.source_blocks.size() * layout.layers);
      for (uint32_t layer = 0; layer < layout.layers; ++layer)
        for (auto block : out.source_blocks)
          out.digests.push_back(
            digest64_of(pool.subspan(layout.piece_offset(layer, block), layout.piece_bytes())));
      post.send(p.decode, schema::role::decode, p.key, p.budget_us, out);
    },
  };
}

} // namespace penstock::actors
