// The prefix cache, with and without a host tier, against a naive model: a list of prefixes,
// searched from end to end. Every block has real bytes, which say what prefix they belong to.
#include "base/digest.hpp"
#include "base/rng.hpp"
#include "gpu/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <set>

namespace penstock::gpu {
namespace {

constexpr uint32_t capacity = 12;
constexpr kv_layout layout{3, 1, 2, 16, capacity, kv_dtype::f32};
constexpr uint32_t block_tokens = layout.block_tokens;
using token_list = std::vector<token_id>;

/// Predicts every hit, every eviction and what of a hit comes from host memory.
class naive_cache {
public:
  explicit naive_cache(uint32_t host_capacity) : host_capacity_(host_capacity) {}

  struct record {
    token_list prefix;
    std::string scope;
    uint64_t used = 0;
    uint32_t holders = 0;
    bool in_pool = true;
  };

  struct found {
    std::vector<record*> records; ///< Held.
    uint32_t from_host = 0;
  };
  found find(const token_list& tokens, size_t tokens_max, const std::string& scope) {
    found out;
    auto chain = chain_of(tokens, tokens_max, scope);
    for (auto* r : chain)
      r->used = ++now_;
    for (const auto& prefix : prefixes_of(tokens, tokens_max)) {
      auto* r = lookup(prefix, scope);
      if (r == nullptr)
        return out;
      if (!r->in_pool) {
        moving_ = r;
        auto fits = make_free(1);
        moving_ = nullptr;
        if (!fits)
          return out;
        r->in_pool = true;
        ++out.from_host;
      }
      ++r->holders;
      out.records.push_back(r);
    }
    return out;
  }

  /// @param held Records the row holds already. @returns All it holds afterwards: what was known
  /// in the pool before is not its own block.
  std::vector<record*> insert(const token_list& tokens, const std::vector<record*>& held,
                              const std::string& scope) {
    auto all = held;
    for (const auto& prefix : prefixes_of(tokens, tokens.size())) {
      auto* r = lookup(prefix, scope);
      if (r == nullptr)
        r = &records_.emplace_back(record{prefix, scope, 0, 0, false});
      r->used = ++now_;
      if (r->in_pool)
        continue; // What the row computed beside it stays the row's own.
      r->in_pool = true;
      ++r->holders;
      all.push_back(r);
    }
    return all;
  }

  /// Blocks leased that stand for nothing known.
  uint32_t private_blocks = 0;

  bool make_free(uint32_t wanted) {
    while (free() < wanted)
      if (!evict_one(host_capacity_ > 0))
        return false;
    return true;
  }

  void clear() {
    records_.remove_if([](const record& r) { return !r.in_pool; });
    while (evict_one(false)) {
    }
  }

  [[nodiscard]] uint32_t in_pool() const { return count_if(&record::in_pool, true); }
  [[nodiscard]] uint32_t in_host() const { return count_if(&record::in_pool, false); }
  [[nodiscard]] uint32_t free() const { return capacity - in_pool() - private_blocks; }
  [[nodiscard]] uint32_t scope_count() const {
    std::set<std::string> scopes;
    for (const auto& r : records_)
      scopes.insert(r.scope);
    return static_cast<uint32_t>(scopes.size());
  }

private:
  [[nodiscard]] uint32_t count_if(bool record::*what, bool wanted) const {
    return static_cast<uint32_t>(
      std::count_if(records_.begin(), records_.end(),
                    [what, wanted](const record& r) { return r.*what == wanted; }));
  }

  static std::vector<token_list> prefixes_of(const token_list& tokens, size_t max) {
    std::vector<token_list> all;
    for (size_t end = block_tokens; end <= std::min(tokens.size(), max); end += block_tokens)
      all.emplace_back(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(end));
    return all;
  }

  record* lookup(const token_list& prefix, const std::string& scope) {
    for (auto& r : records_)
      if (r.prefix == prefix && r.scope == scope)
        return &r;
    return nullptr;
  }

  std::vector<record*> chain_of(const token_list& tokens, size_t max, const std::string& scope) {
    std::vector<record*> chain;
    for (const auto& prefix : prefixes_of(tokens, max)) {
      auto* r = lookup(prefix, scope);
      if (r == nullptr)
        break;
      chain.push_back(r);
    }
    return chain;
  }

  [[nodiscard]] bool has_longer(const record& r, bool only_in_pool) const {
    return std::any_of(records_.begin(), records_.end(), [&](const record& other) {
      return other.scope == r.scope && other.prefix.size() > r.prefix.size()
             && (other.in_pool || !only_in_pool)
             && std::equal(r.prefix.begin(), r.prefix.end(), other.prefix.begin());
    });
  }

  /// @returns The least recently used one that may leave the pool (or host memory); else null.
  record* oldest(bool in_pool) {
    record* best = nullptr;
    for (auto& r : records_)
      if (r.in_pool == in_pool && r.holders == 0 && &r != moving_ && !has_longer(r, in_pool)
          && (best == nullptr || r.used < best->used))
        best = &r;
    return best;
  }

  void forget(const record* gone) {
    records_.remove_if([gone](const record& r) { return &r == gone; });
  }

  bool evict_one(bool save) {
    auto* leaving = oldest(true);
    if (leaving == nullptr)
      return false;
    if (!save) {
      forget(leaving);
      return true;
    }
    if (in_host() - (moving_ != nullptr ? 1 : 0) == host_capacity_)
      forget(oldest(false));
    leaving->in_pool = false;
    return true;
  }

  uint32_t host_capacity_;
  std::list<record> records_;
  record* moving_ = nullptr;
  uint64_t now_ = 0;
};

/// The bytes of the block that ends a prefix, for one layer.
std::vector<std::byte> bytes_of(std::span<const token_id> prefix, uint32_t layer) {
  std::vector<std::byte> out(layout.piece_bytes());
  rng draw{digest64_of(std::as_bytes(prefix)) + layer};
  for (auto& b : out)
    b = static_cast<std::byte>(draw.below(256));
  return out;
}

struct side_by_side {
  explicit side_by_side(uint32_t host_capacity)
    : tier(block_copier{memory, layout}, host_capacity * bytes_per_block + 5),
      naive(host_capacity) {}

  static constexpr uint64_t bytes_per_block = layout.piece_bytes() * layout.layers;
  std::vector<uint64_t> generations = std::vector<uint64_t>(capacity);
  std::vector<std::byte> memory = std::vector<std::byte>(layout.pool_bytes());
  block_pool pool{generations};
  host_tier tier;
  prefix_cache cache{pool, block_tokens, &tier};
  naive_cache naive;

  struct row {
    kv_lease lease;
    std::vector<naive_cache::record*> held;
  };
  std::vector<row> rows;

  [[nodiscard]] std::span<std::byte> piece(uint32_t layer, uint32_t block) {
    return std::span{memory}.subspan(layout.piece_offset(layer, block), layout.piece_bytes());
  }

  void write(std::span<const token_id> prefix, uint32_t block) {
    for (uint32_t layer = 0; layer < layout.layers; ++layer)
      std::ranges::copy(bytes_of(prefix, layer), piece(layer, block).begin());
  }

  void verify(std::span<const token_id> tokens, const kv_lease& hit) {
    for (size_t i = 0; i < hit.blocks().size(); ++i)
      for (uint32_t layer = 0; layer < layout.layers; ++layer)
        ASSERT_TRUE(std::ranges::equal(bytes_of(tokens.first((i + 1) * block_tokens), layer),
                                       piece(layer, hit.blocks()[i])))
          << "block " << i << " of layer " << layer << " has other bytes than were computed";
  }

  void release(size_t at) {
    auto& r = rows[at];
    naive.private_blocks -= static_cast<uint32_t>(r.lease.blocks().size() - r.held.size());
    for (auto* record : r.held)
      --record->holders;
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(at));
  }

  /// A row's life up to the end of its prefill: find, take what is missing, compute, enter.
  void run_row(const token_list& tokens, uint32_t tokens_max, const std::string& scope) {
    auto hit = cache.find(tokens, tokens_max, scope);
    auto expected = naive.find(tokens, tokens_max, scope);
    ASSERT_EQ(hit.blocks().size(), expected.records.size());
    ASSERT_EQ(hit.from_host, expected.from_host);
    verify(tokens, hit);
    auto found = hit.blocks().size();
    row r{std::move(hit), std::move(expected.records)};
    auto all = (tokens.size() + block_tokens - 1) / block_tokens;
    auto missing = static_cast<uint32_t>(all - found);
    if (missing > 0) {
      auto fits = naive.make_free(missing);
      auto fresh = cache.acquire(missing);
      ASSERT_EQ(static_cast<bool>(fresh), fits);
      if (fresh)
        block_pool::join(r.lease, std::move(*fresh));
    }
    auto blocks = r.lease.blocks();
    for (size_t i = found; i < blocks.size(); ++i)
      write(std::span{tokens}.first(std::min(tokens.size(), (i + 1) * block_tokens)), blocks[i]);
    cache.insert(tokens, blocks, scope);
    if (blocks.size() == all)
      r.held = naive.insert(tokens, r.held, scope);
    naive.private_blocks += static_cast<uint32_t>(blocks.size() - r.held.size());
    rows.push_back(std::move(r));
  }

  void compare() {
    auto c = pool.counts();
    ASSERT_EQ(c.free, naive.free());
    ASSERT_EQ(c.free + c.leased + c.cached + c.quarantined, c.capacity);
    ASSERT_EQ(cache.count(), naive.in_pool() + naive.in_host());
    ASSERT_EQ(cache.scope_count(), naive.scope_count());
    auto did = cache.counts();
    ASSERT_EQ(tier.count(), naive.in_host());
    ASSERT_EQ(did.host_bytes, naive.in_host() * bytes_per_block);
    ASSERT_LE(did.host_bytes, did.host_bytes_max);
  }
};

void run(uint64_t seed, uint32_t host_capacity) {
  static const std::string scopes[] = {"", "a", std::string{"a\0", 2}};
  rng draw{seed};
  side_by_side both{host_capacity};
  for (int turn = 0; turn < 150; ++turn) {
    auto what = draw.below(30);
    if (what == 0) {
      both.cache.clear(); // Leaves those in use.
      both.naive.clear();
    } else if (what < 14 && !both.rows.empty()) {
      both.release(draw.below(both.rows.size()));
    } else {
      token_list tokens(1 + draw.below(5 * block_tokens));
      for (size_t i = 0; i < tokens.size(); ++i) // Many common prefixes.
        tokens[i] = i % block_tokens == 7 ? static_cast<token_id>(draw.below(2)) : 5;
      auto max = draw.below(4) == 0 ? draw.below(tokens.size()) : tokens.size() - 1;
      both.run_row(tokens, static_cast<uint32_t>(max), scopes[draw.below(3)]);
    }
    both.compare();
    if (::testing::Test::HasFatalFailure())
      return;
  }
  while (!both.rows.empty())
    both.release(0);
  both.compare();
  both.cache.clear();
  ASSERT_EQ(both.pool.counts().free, capacity);
  ASSERT_EQ(both.cache.count() + both.tier.count() + both.cache.scope_count(), 0U);
}

class prefix_cache_model : public ::testing::TestWithParam<uint32_t> {};

TEST_P(prefix_cache_model, does_what_a_list_of_prefixes_does) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(seed, GetParam());
    if (HasFatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(host_blocks, prefix_cache_model, ::testing::Values(0, 1, 2, 5, 100));

} // namespace
} // namespace penstock::gpu
