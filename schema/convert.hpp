// Requests, endings and descriptions, to and from inference.capnp. Private to schema/.
//
// Reading checks foreign bytes and may throw kj::Exception where they are no Cap'n Proto at all:
// callers are in KJ callbacks, where that is an error of the call.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"
#include "schema/inference.capnp.h"
#include "schema/service.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace penstock::schema {

void write_request(const generate_request& from, wire::GenerateRequest::Builder into);
/// @returns errc::invalid_argument, naming the field and its limit.
[[nodiscard]] result<generate_request> read_request(wire::GenerateRequest::Reader from);

void write_outcome(const generate_outcome& from, wire::Outcome::Builder into);
/// @returns errc::malformed for a reason unknown to this version.
[[nodiscard]] result<generate_outcome> read_outcome(wire::Outcome::Reader from);

void write_info(const service_info& from, wire::ServiceInfo::Builder into);
[[nodiscard]] service_info read_info(wire::ServiceInfo::Reader from);

void write_tokens(std::span<const generated_token> tokens, const std::string& text,
                  wire::TokenSink::PushParams::Builder into);
/// @returns errc::malformed if ids and logprobs do not match.
[[nodiscard]] result<std::vector<generated_token>>
read_tokens(wire::TokenSink::PushParams::Reader from);

} // namespace penstock::schema
