// All tensors of a model directory, by name, over one safetensors file or several shards.
//
// Owns the mappings its views point into. Knows no model: which names must exist, and with which
// shapes, is bind_weights' business.
#pragma once

#include "base/result.hpp"
#include "model/mapped_file.hpp"
#include "model/safetensors.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::model {

class tensor_set {
public:
  /// Maps model.safetensors or, without one, the shards in model.safetensors.index.json.
  /// @returns errc::io_failed (a file is missing or unreadable) or errc::malformed.
  [[nodiscard]] static result<tensor_set> open(const std::filesystem::path& directory);

  /// @returns The entry of this name or, through `__metadata__`, of the one stored in its place;
  ///          nullptr if there is none. Lives as long as the set.
  [[nodiscard]] const safetensors_entry* find(std::string_view name) const;

  /// Adds a file's contents.
  /// @returns errc::malformed if a name is there already.
  [[nodiscard]] result<void> add(safetensors_contents contents, std::string_view source);

  [[nodiscard]] const std::map<std::string, safetensors_entry, std::less<>>& entries() const {
    return entries_;
  }

private:
  [[nodiscard]] result<void> map_file(const std::filesystem::path& path);
  [[nodiscard]] result<void> map_shards(const std::filesystem::path& index_path);

  std::vector<mapped_file> files_;
  std::map<std::string, safetensors_entry, std::less<>> entries_;
  std::map<std::string, std::string, std::less<>> stored_as_; // From `__metadata__`.
};

} // namespace penstock::model
