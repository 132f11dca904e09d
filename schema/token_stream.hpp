// Tokens of one request on their way from actor threads to the RPC loop. Private to schema/.
//
// A buffer, not a queue with back pressure: it holds at most the whole reply (tokens_max tokens and
// their text), so a slow client never makes an actor wait. What has gathered leaves as one batch.
// No kj here. Invariant: the stream's key is in the post box only between a push and the next take.
#pragma once

#include "base/request.hpp"
#include "schema/bell.hpp"
#include "schema/service.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::schema {

class token_stream final : public token_sink {
public:
  struct batch {
    std::vector<generated_token> tokens;
    std::string text;
    std::optional<generate_outcome> outcome; ///< After these tokens, the end.

    [[nodiscard]] bool empty() const { return tokens.empty() && text.empty() && !outcome; }
  };

  /// @param key        What is left in `ready` when there is something to take.
  /// @param tokens_max Tokens pushed at most, over all.
  /// @param ready      Shared: the service may hold the stream longer than the loop lives.
  token_stream(uint64_t key, uint32_t tokens_max, std::shared_ptr<post_box<uint64_t>> ready)
    : key_(key), tokens_max_(tokens_max), ready_(std::move(ready)) {}

  // Actor threads.
  void push(std::span<const generated_token> tokens, std::string_view text) override;
  void done(const generate_outcome& outcome) override;

  // The loop's thread.
  [[nodiscard]] batch take();
  /// Ignores everything from now on: nobody will read it.
  void close();
  /// @returns True once done() was called.
  [[nodiscard]] bool ended() const;

private:
  const uint64_t key_;
  const uint32_t tokens_max_;
  const std::shared_ptr<post_box<uint64_t>> ready_;

  mutable std::mutex mutex_; // Guards what follows.
  batch pending_;
  uint64_t tokens_count_ = 0;
  bool told_ = false; // The key is in the post box.
  bool ended_ = false;
  bool closed_ = false;
};

} // namespace penstock::schema
