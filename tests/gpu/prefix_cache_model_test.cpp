// The prefix cache against a naive model: a list of prefixes, searched from end to end.
#include "base/rng.hpp"
#include "gpu/prefix_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace penstock::gpu {
namespace {

constexpr uint32_t block_tokens = 2;
constexpr uint32_t capacity = 12;
using token_list = std::vector<token_id>;
using block_list = std::vector<uint32_t>;

/// Does what the cache promises, with nothing but a vector.
class naive_cache {
public:
  std::map<uint32_t, uint32_t> holders; ///< By block; blocks of nobody are absent.

  block_list find(const token_list& tokens, size_t tokens_max, const std::string& scope) {
    block_list found;
    for (size_t end = block_tokens; end <= std::min(tokens.size(), tokens_max);
         end += block_tokens) {
      auto* r = lookup({tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(end)}, scope);
      if (r == nullptr)
        break;
      r->used = ++now_;
      found.push_back(r->block);
    }
    return found;
  }

  void insert(const token_list& tokens, const block_list& blocks, const std::string& scope) {
    for (size_t i = 0; (i + 1) * block_tokens <= tokens.size() && i < blocks.size(); ++i) {
      token_list prefix{tokens.begin(),
                        tokens.begin() + static_cast<ptrdiff_t>((i + 1) * block_tokens)};
      auto* r = lookup(prefix, scope);
      if (r == nullptr)
        records_.push_back({prefix, scope, blocks[i], ++now_});
      else
        r->used = ++now_;
    }
  }

  /// Makes room as acquire() must. @returns False if too little can go.
  bool make_free(uint32_t wanted) {
    while (free() < wanted)
      if (!evict_one())
        return false;
    return true;
  }

  void clear() {
    while (evict_one()) {
    }
  }

  [[nodiscard]] uint32_t count() const { return static_cast<uint32_t>(records_.size()); }
  [[nodiscard]] uint32_t scope_count() const {
    std::map<std::string, int> scopes;
    for (const auto& r : records_)
      ++scopes[r.scope];
    return static_cast<uint32_t>(scopes.size());
  }
  [[nodiscard]] uint32_t cached() const {
    return static_cast<uint32_t>(
      std::count_if(records_.begin(), records_.end(),
                    [this](const record& r) { return !holders.contains(r.block); }));
  }
  [[nodiscard]] uint32_t free() const {
    return capacity - static_cast<uint32_t>(holders.size()) - cached();
  }

private:
  struct record {
    token_list prefix;
    std::string scope;
    uint32_t block = 0;
    uint64_t used = 0;
  };

  record* lookup(const token_list& prefix, const std::string& scope) {
    for (auto& r : records_)
      if (r.prefix == prefix && r.scope == scope)
        return &r;
    return nullptr;
  }

  [[nodiscard]] bool has_longer(const record& r) const {
    return std::any_of(records_.begin(), records_.end(), [&r](const record& other) {
      return other.scope == r.scope && other.prefix.size() > r.prefix.size()
             && std::equal(r.prefix.begin(), r.prefix.end(), other.prefix.begin());
    });
  }

  bool evict_one() {
    auto oldest = records_.end();
    for (auto r = records_.begin(); r != records_.end(); ++r)
      if (!holders.contains(r->block) && !has_longer(*r)
          && (oldest == records_.end() || r->used < oldest->used))
        oldest = r;
    if (oldest == records_.end())
      return false;
    records_.erase(oldest);
    return true;
  }

  std::vector<record> records_;
  uint64_t now_ = 0;
};

struct side_by_side {
  std::vector<uint64_t> generations = std::vector<uint64_t>(capacity);
  block_pool pool{generations};
  prefix_cache cache{pool, block_tokens};
  naive_cache naive;
  std::vector<kv_lease> rows;

  void hold(kv_lease lease) {
    for (auto block : lease.blocks())
      ++naive.holders[block];
    rows.push_back(std::move(lease));
  }
  void release(size_t row) {
    for (auto block : rows[row].blocks())
      if (--naive.holders[block] == 0)
        naive.holders.erase(block);
    rows.erase(rows.begin() + static_cast<ptrdiff_t>(row));
  }

  /// A row's life up to the end of its prefill: find, take what is missing, enter.
  void run_row(const token_list& tokens, uint32_t tokens_max, const std::string& scope) {
    auto hit = cache.find(tokens, tokens_max, scope);
    auto expected = naive.find(tokens, tokens_max, scope);
    ASSERT_EQ(block_list(hit.blocks().begin(), hit.blocks().end()), expected);
    for (auto block : expected)
      ++naive.holders[block]; // So that making room does not take them.
    auto all = (tokens.size() + block_tokens - 1) / block_tokens;
    auto missing = static_cast<uint32_t>(all - expected.size());
    kv_lease lease{std::move(hit)};
    if (missing > 0) {
      auto fits = naive.make_free(missing);
      auto fresh = cache.acquire(missing);
      ASSERT_EQ(static_cast<bool>(fresh), fits);
      if (fresh)
        block_pool::join(lease, std::move(*fresh));
    }
    block_list blocks{lease.blocks().begin(), lease.blocks().end()};
    cache.insert(tokens, blocks, scope);
    naive.insert(tokens, blocks, scope);
    hold(std::move(lease));
    for (auto block : expected)
      --naive.holders[block]; // Now held by the row.
  }

  void compare() {
    auto c = pool.counts();
    ASSERT_EQ(c.free, naive.free());
    ASSERT_EQ(c.cached, naive.cached());
    ASSERT_EQ(c.free + c.leased + c.cached + c.quarantined, c.capacity);
    ASSERT_EQ(cache.count(), naive.count());
    ASSERT_EQ(cache.scope_count(), naive.scope_count());
  }
};

TEST(prefix_cache_model, does_what_a_list_of_prefixes_does) {
  const std::string scopes[] = {"", "a", "b", std::string{"a\0", 2}};
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    rng draw{seed};
    side_by_side both;
    for (int turn = 0; turn < 150; ++turn) {
      auto what = draw.below(20);
      if (what == 0) {
        both.cache.clear(); // Leaves those in use.
        both.naive.clear();
      } else if (what < 9 && !both.rows.empty()) {
        both.release(draw.below(both.rows.size()));
      } else {
        token_list tokens(1 + draw.below(9));
        for (auto& id : tokens)
          id = static_cast<token_id>(draw.below(2)); // Many common prefixes.
        both.run_row(tokens, static_cast<uint32_t>(draw.below(10)), scopes[draw.below(4)]);
      }
      both.compare();
      if (::testing::Test::HasFatalFailure())
        return;
    }
    while (!both.rows.empty())
      both.release(0);
    both.cache.clear();
    ASSERT_EQ(both.pool.counts().free, capacity);
    ASSERT_EQ(both.cache.scope_count(), 0U);
  }
}

} // namespace
} // namespace penstock::gpu
