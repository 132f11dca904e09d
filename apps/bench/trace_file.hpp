// Request traces other people recorded: when requests came, and how long they and their answers
// were. No text is in them.
//
// Two formats, told apart by their first line: JSON lines with timestamp (ms), input_length,
// output_length and hash_ids (one per 512 tokens; equal ids are equal tokens), and CSV with
// TIMESTAMP, ContextTokens, GeneratedTokens.
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::apps::bench {

inline constexpr size_t trace_bytes_max = size_t{256} << 20U;
inline constexpr uint32_t trace_block_tokens = 512; ///< What one of hash_ids stands for.

struct trace_entry {
  time_us at = 0; ///< Since the first request.
  uint32_t prompt_tokens = 0;
  uint32_t output_tokens = 0;
  std::vector<uint64_t> blocks; ///< hash_ids; empty if the format has none.
};

/// @param text Of the whole file. @param name For errors.
/// @returns The entries by time; errc::malformed with the line that is none.
[[nodiscard]] result<std::vector<trace_entry>> parse_trace(std::string_view text,
                                                           const std::string& name);

/// Reads a file of text. @returns Its bytes; errc::io_failed, or errc::invalid_argument if it is
/// larger than trace_bytes_max.
[[nodiscard]] result<std::string> read_text_file(const std::string& path);

} // namespace penstock::apps::bench
