// Writes models in the Hugging Face layout: config.json and safetensors, whole or in shards.
//
// For tests (also of malformed variants) and for sharing a tiny_model between processes. Writes no
// tokenizer.json.
#pragma once

#include "base/result.hpp"
#include "model/tiny.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace penstock::model {

/// @returns A .safetensors file of these tensors, in this order, with `metadata` as given.
[[nodiscard]] std::vector<std::byte>
safetensors_bytes(const std::vector<std::pair<std::string, tensor_view>>& tensors,
                  const std::vector<std::pair<std::string, std::string>>& metadata = {});

/// @returns The model's tensors by name, in the order of weight_slots.
[[nodiscard]] std::vector<std::pair<std::string, tensor_view>>
named_tensors(const tiny_model& model);

/// Writes `model` into `directory`, which is made if needed; files there are replaced.
/// @param shards 1: model.safetensors; more: that many shards and an index. At least 1.
/// @returns errc::io_failed.
[[nodiscard]] result<void> write_hf(const tiny_model& model, const std::filesystem::path& directory,
                                    size_t shards = 1);

/// @returns errc::io_failed.
[[nodiscard]] result<void> write_file(const std::filesystem::path& path,
                                      std::span<const std::byte> bytes);

} // namespace penstock::model
