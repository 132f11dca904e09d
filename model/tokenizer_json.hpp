// The stages of a tokenizer.json, one reader each. Private to the tokenizer's parser.
//
// Each returns the first error; a component or setting that it does not know is refused by name,
// because ignoring it would give other ids than the model was trained with.
#pragma once

#include "model/json_fields.hpp"
#include "model/tokenizer_spec.hpp"

#include <string_view>

namespace penstock::model {

/// @param value The stage's JSON, not null.
[[nodiscard]] result<void> read_normalizer(const json& value, std::string_view source,
                                           std::vector<normalizer_step>& out);
[[nodiscard]] result<void> read_pre_tokenizer(const json& value, std::string_view source,
                                              std::vector<pre_tokenizer_step>& out);
[[nodiscard]] result<void> read_post_processor(const json& value, std::string_view source,
                                               tokenizer_spec& out);
[[nodiscard]] result<void> read_decoder(const json& value, std::string_view source,
                                        decoder_spec& out);

/// @returns The component's "type", or an error if it is no object or has none.
[[nodiscard]] result<std::string> component_type(const json& value, std::string_view source,
                                                 std::string_view stage);
/// @returns errc::unsupported: "source: stage: what".
[[nodiscard]] error stage_unsupported(std::string_view source, std::string_view stage,
                                      std::string_view what);
/// @returns The regular expression of a {"String": ...} or {"Regex": ...}.
[[nodiscard]] result<std::string> read_pattern(const json& object, std::string_view source,
                                               std::string_view stage);

} // namespace penstock::model
