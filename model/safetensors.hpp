// A .safetensors file's bytes to a list of named tensor views.
//
// Trusts no byte: a view handed out lies inside the file, is aligned, and overlaps no other. Knows
// no model and opens no file; the views live as long as the bytes do.
#pragma once

#include "base/result.hpp"
#include "model/tensor.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::model {

struct safetensors_entry {
  std::string name;
  std::string dtype_name; ///< As stored, e.g. "BF16" or "I64".
  /// Absent if the dtype or rank is none that this build computes with; its bounds are checked.
  std::optional<tensor_view> view;
};

struct safetensors_contents {
  std::vector<safetensors_entry> tensors; ///< By ascending offset.
  /// `__metadata__`: pairs of strings, by key. Some writers note tied tensors here, as
  /// (name left out, name stored).
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Longest header read; 64 MiB name some 500,000 tensors.
inline constexpr size_t safetensors_header_bytes_max = size_t{64} << 20U;

/// @param bytes  The whole file. Little-endian host, aligned to 8 as a mapping is.
/// @param source Name for errors.
/// @returns errc::malformed; the detail names the tensor and what is wrong with it.
[[nodiscard]] result<safetensors_contents> parse_safetensors(std::span<const std::byte> bytes,
                                                             std::string_view source);

} // namespace penstock::model
