// A Hugging Face model directory, loaded, checked, and owned in one piece.
//
// Reads and verifies; computes nothing. The bytes stay in the files' mappings.
#pragma once

#include "base/digest.hpp"
#include "base/result.hpp"
#include "model/config.hpp"
#include "model/tensor_set.hpp"
#include "model/tokenizer.hpp"
#include "model/weights.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace penstock::model {

struct loaded_model {
  std::string name; ///< The directory's own name.
  model_config config;
  tensor_set tensors; ///< Owns what `weights` views.
  model::weights weights;
  model::tokenizer tokenizer;
  digest128 digest; ///< digest_of(config, weights): equal for a renamed or re-sharded copy.
};

/// Loads config.json, generation_config.json (if there), safetensors and tokenizer.json.
/// Reads every byte once, for the digest. Invariant of what it returns: every id that the
/// tokenizer gives is below config.vocab.
/// @returns errc::io_failed (what is missing, and where), errc::malformed, or errc::unsupported.
[[nodiscard]] result<std::unique_ptr<loaded_model>>
load_model(const std::filesystem::path& directory);

} // namespace penstock::model
