#include "cluster/placement.hpp"

#include "base/check.hpp"

#include <algorithm>
#include <tuple>

namespace penstock::cluster {
namespace {

struct search {
  role wanted;
  uint64_t tokens; ///< The pool must hold them.
  std::span<const node_start> avoid;

  [[nodiscard]] uint64_t blocks(const candidate& c) const {
    PS_CHECK(c.block_tokens > 0 && c.rows_max > 0);
    return (tokens + c.block_tokens - 1) / c.block_tokens;
  }

  [[nodiscard]] bool avoided(const candidate& c) const {
    return std::find(avoid.begin(), avoid.end(), node_start{c.node, c.incarnation}) != avoid.end();
  }

  /// Smaller is better, by the first that differs.
  [[nodiscard]] auto cost(const candidate& c) const {
    bool crowded = blocks(c) > c.blocks_free;
    uint64_t load = c.queued_tokens;
    if (wanted == role::decode) {
      crowded = crowded || c.running_rows >= c.rows_max;
      load = uint64_t{c.running_rows} * 1'000'000 / c.rows_max; // Share of its rows.
    }
    return std::tuple{avoided(c), crowded, load, c.node};
  }
};

result<node_start> best(std::span<const candidate> view, const search& s) {
  const candidate* found = nullptr;
  uint64_t largest = 0;
  bool any = false;
  for (const candidate& c : view) {
    if (!c.ready || !c.roles.has(s.wanted))
      continue;
    any = true;
    largest = std::max(largest, uint64_t{c.blocks_capacity} * c.block_tokens);
    if (s.blocks(c) > c.blocks_capacity)
      continue;
    if (found == nullptr || s.cost(c) < s.cost(*found))
      found = &c;
  }
  std::string name{name_of(s.wanted)};
  if (!any)
    return error{errc::unavailable, "no " + name + " node is ready"};
  if (found == nullptr)
    return error{errc::prompt_too_long, "needs KV for " + std::to_string(s.tokens)
                                          + " tokens; the largest " + name + " pool holds "
                                          + std::to_string(largest)};
  return node_start{found->node, found->incarnation};
}

} // namespace

result<placement> place(std::span<const candidate> view, const placement_request& request) {
  uint64_t prompt = request.prompt_tokens;
  // Prefill computes all prompt tokens but the last.
  auto prefill = best(view, {role::prefill, prompt > 0 ? prompt - 1 : 0, request.avoid});
  if (!prefill)
    return prefill.err();
  auto decode = best(view, {role::decode, prompt + request.tokens_max, request.avoid});
  if (!decode)
    return decode.err();
  return placement{*prefill, *decode};
}

} // namespace penstock::cluster
