// The distinct tokens of one row, for its repetition penalty: device state that lives with a slot.
//
// Each id once, in ascending order, so that what is done with them does not depend on their
// history.
#pragma once

#include "base/request.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace penstock::gpu {

class seen_tokens {
public:
  /// Forgets what was and takes these, in any order, repeated or not.
  void restart(std::span<const token_id> tokens) {
    ids_.assign(tokens.begin(), tokens.end());
    std::sort(ids_.begin(), ids_.end());
    ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  }
  void add(token_id id) {
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id);
    if (at == ids_.end() || *at != id)
      ids_.insert(at, id);
  }
  [[nodiscard]] std::span<const token_id> ids() const noexcept { return ids_; }

private:
  std::vector<token_id> ids_;
};

} // namespace penstock::gpu
