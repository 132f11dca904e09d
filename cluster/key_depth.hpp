// Finds keys with too many dots before toml++ sees them.
//
// Each dot of `a.b.c = 1` nests one table in another, and toml++ 3.3 frees nested tables by
// recursion: half a million dots in one small file would overflow the stack. Not a parser: text
// that is no TOML is toml++'s to refuse, and it stops at the first error.
#pragma once

#include "cluster/mistake.hpp"

#include <string_view>

namespace penstock::cluster {

inline constexpr uint32_t key_dots_max = 8;

/// @returns Where a key's dots exceed key_dots_max; line 0 if nowhere.
[[nodiscard]] position find_deep_key(std::string_view text) noexcept;

} // namespace penstock::cluster
