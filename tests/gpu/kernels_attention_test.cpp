#include "base/limits.hpp"
#include "gpu/kernels.hpp"
#include "gpu/kv_layout.hpp"
#include "tests/gpu/kernel_fixture.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace penstock::gpu {
namespace {

/// One layer of a pool, filled for `keys` positions; everything else in it is NaN.
struct filled_pool {
  kv_layout layout;
  std::vector<float> floats;
  std::vector<uint32_t> blocks;

  filled_pool(uint32_t kv_heads, uint32_t head_dim, uint32_t block_tokens, uint32_t keys,
              uint64_t seed)
    : layout{1,
             kv_heads,
             head_dim,
             block_tokens,
             (keys + block_tokens - 1) / block_tokens + 3,
             kv_dtype::f32},
      floats(layout.pool_bytes() / 4, std::numeric_limits<float>::quiet_NaN()),
      blocks(layout.blocks) {
    std::iota(blocks.begin(), blocks.end(), 0U);
    rng draws{seed + block_tokens};
    for (size_t i = blocks.size(); i > 1; --i)
      std::swap(blocks[i - 1], blocks[draws.below(i)]);
    const auto values = random_values(seed, size_t{2} * keys * kv_heads * head_dim);
    size_t next = 0;
    for (uint32_t position = 0; position < keys; ++position)
      for (uint32_t head = 0; head < kv_heads; ++head)
        for (uint32_t d = 0; d < head_dim; ++d) {
          *key(head, position, d) = 3.0F * values[next++];
          *value(head, position, d) = values[next++];
        }
  }
  float* piece(uint32_t position) {
    return floats.data() + layout.piece_offset(0, blocks[position / layout.block_tokens]) / 4;
  }
  float* key(uint32_t head, uint32_t position, uint32_t d) {
    return piece(position) + layout.key_index(head, position % layout.block_tokens, d);
  }
  float* value(uint32_t head, uint32_t position, uint32_t d) {
    return piece(position) + layout.half_bytes() / 4
           + layout.value_index(head, position % layout.block_tokens, d);
  }
};

/// exp of the page, through the scalar table, which elementwise tests compare with libm.
float page_exp(float x) {
  float out = 0.0F;
  scalar_kernels().exp_scaled(&out, &x, 1, 0.0F, 1.0F);
  return out;
}

/// docs/numerics.md, "Attention", word by word. @returns [head_dim].
std::vector<float> plain_attention(filled_pool& pool, const float* q, uint32_t head, uint32_t keys,
                                   float scale) {
  const uint32_t head_dim = pool.layout.head_dim;
  std::vector<float> lanes(16, 0.0F);
  std::vector<float> o(head_dim, 0.0F);
  float most = 0.0F;
  for (uint32_t begin = 0; begin < keys; begin += limits::attention_tile_tokens) {
    const uint32_t end = std::min(keys, begin + limits::attention_tile_tokens);
    std::vector<float> s(end - begin, 0.0F);
    for (uint32_t j = begin; j < end; ++j) {
      for (uint32_t d = 0; d < head_dim; ++d)
        s[j - begin] = std::fma(q[d], *pool.key(head, j, d), s[j - begin]);
      s[j - begin] *= scale;
    }
    float peak = *std::max_element(s.begin(), s.end());
    if (begin > 0) {
      peak = std::max(peak, most);
      const float c = page_exp(most - peak);
      for (auto& lane : lanes)
        lane *= c;
      for (auto& x : o)
        x *= c;
    }
    most = peak;
    for (uint32_t j = begin; j < end; ++j) {
      const float w = page_exp(s[j - begin] - peak);
      lanes[j % 16] += w;
      for (uint32_t d = 0; d < head_dim; ++d)
        o[d] = std::fma(w, *pool.value(head, j, d), o[d]);
    }
  }
  for (uint32_t width = 8; width > 0; width /= 2)
    for (uint32_t i = 0; i < width; ++i)
      lanes[i] += lanes[i + width];
  for (auto& x : o)
    x /= lanes[0];
  return o;
}

/// Runs `tokens` from `first` on, `chunk` at a time. @returns [tokens][heads][head_dim].
std::vector<float> run(const kernel_table& table, filled_pool& pool, const std::vector<float>& q,
                       uint32_t group, uint32_t first, uint32_t tokens, uint32_t chunk) {
  const auto& layout = pool.layout;
  const uint32_t width = layout.kv_heads * group * layout.head_dim;
  std::vector<float> out(size_t{tokens} * width);
  std::vector<float> scratch(attention_scratch_floats(layout.head_dim));
  attention_args args;
  args.query_stride = args.out_stride = width;
  args.group = group;
  args.head_dim = layout.head_dim;
  args.scale = 1.0F / std::sqrt(static_cast<float>(layout.head_dim));
  args.layer = pool.floats.data();
  args.piece_floats = layout.piece_bytes() / 4;
  args.block_tokens = layout.block_tokens;
  args.blocks = pool.blocks.data();
  args.scratch = scratch.data();
  for (uint32_t begin = 0; begin < tokens; begin += chunk)
    for (uint32_t head = 0; head < layout.kv_heads; ++head) {
      args.query = q.data() + size_t{begin} * width;
      args.out = out.data() + size_t{begin} * width;
      args.tokens = std::min(chunk, tokens - begin);
      args.first_position = first + begin;
      args.key_head = head;
      args.query_head = head * group;
      table.attention(args);
    }
  return out;
}

class attention_shapes : public testing::TestWithParam<uint32_t> {};

TEST_P(attention_shapes, every_path_chunk_and_block_size_gives_the_bits_of_the_page) {
  const uint32_t head_dim = GetParam();
  const auto tables = runnable_tables();
  for (const uint32_t group : {1U, 2U, 3U, 4U, 7U}) {
    const uint32_t kv_heads = 2;
    const uint32_t first = 50;
    const uint32_t tokens = 90; // Positions 50 .. 139: ends of tiles and blocks inside.
    const uint32_t width = kv_heads * group * head_dim;
    const auto q = random_values(head_dim, size_t{tokens} * width, 2.0F);
    std::vector<float> expected;
    for (const uint32_t block_tokens : {16U, 32U, 48U, 64U}) {
      filled_pool pool{kv_heads, head_dim, block_tokens, first + tokens, 5};
      if (expected.empty())
        for (uint32_t t = 0; t < tokens; ++t)
          for (uint32_t head = 0; head < kv_heads * group; ++head) {
            const auto o
              = plain_attention(pool, q.data() + size_t{t} * width + head * head_dim, head / group,
                                first + t + 1, 1.0F / std::sqrt(static_cast<float>(head_dim)));
            expected.insert(expected.end(), o.begin(), o.end());
          }
      for (const auto* table : tables)
        for (const uint32_t chunk : {1U, 7U, 90U}) {
          if (table == tables[0] && block_tokens != 16)
            continue; // The scalar path is slow.
          EXPECT_TRUE(same_bits(run(*table, pool, q, group, first, tokens, chunk), expected))
            << table->name << " group " << group << " block " << block_tokens << " chunk " << chunk;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(kernels, attention_shapes,
                         testing::Values(2U, 8U, 16U, 32U, 48U, 64U, 80U, 128U));

TEST(kernels, attention_to_one_key_is_its_value) {
  filled_pool pool{1, 24, 16, 1, 9};
  const auto q = random_values(1, 24);
  for (const auto* table : runnable_tables()) {
    const auto out = run(*table, pool, q, 1, 0, 1, 1);
    for (uint32_t d = 0; d < 24; ++d)
      EXPECT_EQ(out[d], *pool.value(0, 0, d)) << table->name;
  }
}

} // namespace
} // namespace penstock::gpu
