// The rules: text in, verdict out. No actor, no I/O.
//
// Patterns are RE2's, so matching is linear in the text whatever the pattern. Rules are tried in
// file order and the clock is read between them; a time budget that runs out is a verdict by
// policy, never a silent pass.
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "schema/cluster_messages.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace penstock::actors {

struct guardrail_rule {
  std::string name;
  std::string pattern; ///< RE2 syntax, UTF-8.
};

/// @returns What RE2 says of a pattern it does not take; empty if it is good.
[[nodiscard]] std::string why_not_a_pattern(const std::string& pattern);

class guardrail_rules {
public:
  struct options {
    uint64_t budget_us = 0;        ///< For one text, > 0.
    bool allow_on_timeout = false; ///< The policy when it runs out.
  };
  /// @param time Outlives the rules.
  /// @returns errc::invalid_argument naming the rule and what RE2 says of its pattern.
  static result<guardrail_rules> compile(const std::vector<guardrail_rule>& rules, options how,
                                         const clock& time);
  guardrail_rules(guardrail_rules&&) noexcept;
  guardrail_rules& operator=(guardrail_rules&&) noexcept;
  ~guardrail_rules();

  [[nodiscard]] schema::verdict judge(std::string_view text) const;

private:
  struct compiled {
    std::string name;
    std::unique_ptr<re2::RE2> pattern;
  };
  guardrail_rules(options how, const clock& time);

  options how_;
  const clock* time_;
  std::vector<compiled> rules_;
};

} // namespace penstock::actors
