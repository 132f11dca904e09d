// Keeps back text that may be the beginning of a stop string, so that none of it reaches a client.
//
// Stands between the detokenizer and the client; knows neither. Text leaves as soon as no stop
// string can begin in it. With stop strings, a token leaves when all text it has a part in has
// left; without, at once. The answer ends where the first stop string to be complete begins (of
// several complete at once, the longest): that text, the first token with a part in it and all that
// follows are dropped. Invariant: text taken so far ends before any stop string, and with the text
// still held it is all text pushed.
#pragma once

#include "base/request.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::actors {

class hold_back {
public:
  /// What may go to the client.
  struct output {
    std::vector<generated_token> tokens;
    std::string text;
    [[nodiscard]] bool empty() const noexcept { return tokens.empty() && text.empty(); }
  };

  /// Why text waits here.
  enum class reason : uint8_t {
    none,        ///< Nothing waits.
    utf8,        ///< Its last character is not whole yet.
    stop_string, ///< It may be the beginning of a stop string.
  };
  /// One wait. Two are the same if they have the same reason and begin at the same byte.
  struct wait {
    reason why = reason::none;
    uint64_t from = 0; ///< Bytes of the answer before it.
    bool operator==(const wait&) const = default;
  };

  /// @param stops None empty; UTF-8, or no text could have them.
  explicit hold_back(std::vector<std::string> stops);

  /// @param text What the detokenizer gave for the token: whole characters.
  /// @param mid_character The token's last bytes begin a character that is in no text yet.
  void push(const generated_token& token, std::string_view text, bool mid_character);
  /// The answer has ended: nothing is held any longer. @param text The detokenizer's rest.
  void finish(std::string_view text);

  /// @returns What has left since the last call.
  [[nodiscard]] output take();
  /// @returns What waits now.
  [[nodiscard]] wait waiting() const noexcept;
  /// @returns True once a stop string was complete; what is pushed then is dropped.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }
  /// @returns Tokens that have left, over all.
  [[nodiscard]] uint32_t token_count() const noexcept { return token_count_; }
  /// @returns Tokens pushed that will never leave: those with a part in the stop string, and after.
  [[nodiscard]] uint32_t dropped_count() const noexcept {
    return stopped_ ? pushed_count_ - token_count_ : 0;
  }

private:
  struct held_token {
    generated_token token;
    uint64_t text_end = 0; // Text it has a part in ends here, counted from the answer's start.
  };

  void append(std::string_view text);
  void release(size_t text_bytes);
  void release_tokens(uint64_t text_end);

  std::vector<std::string> stops_;
  std::string text_; // Held.
  uint64_t left_bytes_ = 0;
  std::deque<held_token> tokens_; // Held, in order; text_end never falls.
  output out_;
  uint32_t token_count_ = 0;
  uint32_t pushed_count_ = 0;
  bool mid_character_ = false;
  bool stopped_ = false;
};

} // namespace penstock::actors
