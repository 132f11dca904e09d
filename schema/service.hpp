// What the two edges (RPC, HTTP) need from whoever serves requests. No kj type here.
#pragma once

#include "base/request.hpp"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace penstock::schema {

/// Where a request's tokens go. Calls come from actor threads, never two at once, never blocking.
class token_sink {
public:
  virtual ~token_sink() = default;
  /// @param tokens New tokens in order.
  /// @param text   Text that became final with them; may be empty while a character is incomplete.
  virtual void push(std::span<const generated_token> tokens, std::string_view text) = 0;
  /// The one ending; nothing comes after it.
  virtual void done(const generate_outcome& outcome) = 0;
};

struct service_info {
  std::string version;
  std::string model;
  std::string model_digest;
  uint32_t context_tokens = 0;
  std::string numerics_id;
};

class inference_service {
public:
  virtual ~inference_service() = default;

  /// Takes a request; `sink` gets exactly one done(), also when it is refused.
  /// @returns The id to cancel it by. Any thread; does not block.
  virtual request_id generate(generate_request request, std::shared_ptr<token_sink> sink) = 0;

  /// Asks for an early end. Unknown or ended ids are ignored. Any thread; does not block.
  virtual void cancel(request_id request) = 0;

  [[nodiscard]] virtual service_info info() const = 0;
};

} // namespace penstock::schema
