// The one error enum of the project. The same code crosses actors, nodes and the client API.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// Numbers are wire format: append, never reuse.
enum class errc : uint8_t {
  ok = 0,
  // The caller must change the request.
  invalid_argument = 1, ///< A field is out of its range; the detail names it.
  prompt_empty = 2,     ///< No prompt token.
  prompt_too_long = 3,  ///< Prompt plus one token does not fit the context.
  unknown_model = 4,    ///< The named model is not served here.
  blocked = 5,          ///< A guardrail rule forbids it; the detail names the rule.
  unsupported = 6,      ///< Well formed, but this build or peer cannot do it.
  // The caller may try again later.
  overloaded = 20,        ///< A queue or budget of this node is full.
  out_of_blocks = 21,     ///< The KV pool cannot hold it now.
  deadline_exceeded = 22, ///< The request's budget ran out.
  cancelled = 23,         ///< The client, or a partner, gave up.
  unavailable = 24,       ///< No node of the role needed is alive.
  draining = 25,          ///< The node takes no new work.
  // The node's own trouble.
  peer_lost = 40,       ///< A node died or was replaced while it worked for us.
  transfer_failed = 41, ///< KV could not be moved: transport error, retries spent.
  stale_data = 42,      ///< Generation or digest differ after a read.
  device_failed = 43,   ///< The device reported an error; sticky ones end the process.
  malformed = 44,       ///< Foreign bytes that do not parse.
  io_failed = 45,       ///< File or socket error; the detail has the system's text.
  incompatible = 46,    ///< Model, layout, numerics or version differ between partners.
  internal = 47,        ///< Should not happen; please report.
};

/// @returns A stable snake_case name, for logs, metrics labels and JSON.
[[nodiscard]] std::string_view name_of(errc code) noexcept;

/// @returns The code with number `value`, or errc::malformed for a number we do not know.
[[nodiscard]] errc errc_from(uint8_t value) noexcept;

/// @returns True if trying the same request again, here or elsewhere, may help.
[[nodiscard]] bool is_retryable(errc code) noexcept;

} // namespace penstock
