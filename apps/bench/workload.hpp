// Which requests a load consists of: synthetic, traced, or somebody's prompts. Request number n is
// the same on every run with the same options: it is a function of the seed and n.
#pragma once

#include "apps/bench/trace_file.hpp"
#include "base/request.hpp"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace penstock::apps::bench {

/// A request and what must come back.
struct planned_request {
  generate_request request;
  uint32_t prompt_tokens = 0; ///< 0: not known here, the server tokenizes.
  uint32_t output_tokens = 0; ///< Exactly that many: the end token is ignored.
  bool cut = false;           ///< It was longer, but the context has no room for that.
};

/// Random ids. All requests begin with the same `shared_prefix_tokens`.
struct synthetic_prompts {
  uint32_t prompt_tokens = 128;      ///< > 0.
  uint32_t shared_prefix_tokens = 0; ///< <= prompt_tokens.
  uint32_t output_tokens = 64;       ///< > 0.
};

/// Lengths of a trace, with random ids; equal blocks of the trace are equal ids.
struct traced_prompts {
  std::vector<trace_entry> entries; ///< Not empty; begun again when all were used.
  double scale = 1.0;               ///< All lengths are multiplied by it; > 0.
};

/// Texts, in turns.
struct text_prompts {
  std::vector<std::string> texts; ///< Not empty.
  uint32_t output_tokens = 64;    ///< > 0.
};

using prompt_source = std::variant<synthetic_prompts, traced_prompts, text_prompts>;

struct workload_options {
  uint64_t seed = 1;
  uint32_t vocabulary = 256; ///< Random ids are below it; > 0.
  uint32_t context = 0;      ///< Tokens a prompt and its answer may have together; >= 2.
  uint64_t budget_us = 60'000'000;
};

class workload {
public:
  workload(prompt_source source, workload_options options);

  /// @returns Request number `index`, counted from 0.
  [[nodiscard]] planned_request make(uint64_t index) const;

private:
  [[nodiscard]] std::vector<token_id> ids_of(const trace_entry& entry, uint32_t count,
                                             uint64_t index) const;
  void plan(planned_request& out, uint32_t prompt, uint32_t output) const;

  prompt_source source_;
  workload_options options_;
};

/// @returns The lines of a file of prompts that are not empty; errc::malformed if there is none.
[[nodiscard]] result<std::vector<std::string>> prompts_in(std::string_view text,
                                                          const std::string& name);

} // namespace penstock::apps::bench
