// The story of one request, top to bottom: what comes next, when to try again, how it ends.
//
//   admitting ─► guarding ─► placing ─► booking ─► prefilling ─► arriving ─► decoding ─► ended
//                              ▲           └───────────┴────────────┴───────────┤
//                              └───────── a lost partner, budget left ──────────┘
//
// A plain class: events and time in, messages out; the session actor around it sends them. It ends
// exactly once. A new attempt is the same path with prompt + tokens so far, so resuming after a
// loss is no special case; messages of older attempts are ignored.
#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "schema/cluster_messages.hpp"

#include <optional>
#include <string>
#include <vector>

namespace penstock::actors {

class request_story {
public:
  struct setup {
    schema::node_ref self; ///< The gateway's node.
    request_id request = 0;
    std::vector<token_id> prompt;
    std::string prompt_text; ///< What the guardrail sees.
    sampling_params sampling;
    std::vector<token_id> end_ids;
    uint32_t context_tokens = 0;
    uint64_t budget_us = 0;
    time_us accepted_at = 0;
    priority_class priority = priority_class::normal;
    std::string cache_scope;
    bool answer_may_be_cut = false; ///< There are stop strings: only the prompt is cached.
  };
  struct outgoing {
    schema::node_ref to;
    schema::role to_role = schema::role::session;
    uint32_t attempt = 0;
    schema::body what;
  };

  explicit request_story(setup what);

  /// First event. Refuses what can never be served.
  void begin(time_us now);
  void receive(const schema::header& from, const schema::body& what, time_us now);
  /// New tokens, as decode's message to the gateway carries them.
  void receive(const schema::node_ref& from, const schema::tokens::row& row, time_us now);
  void cancel(time_us now);
  /// A stop string was complete: ends the request, or corrects the ending just reached.
  /// @param token_count Tokens before it: the answer's.
  void stop(uint32_t token_count, time_us now);
  /// Refuses before anything has started, e.g. for an unknown model.
  void refuse(errc code, std::string detail, time_us now);
  /// Call at wake_at() or later.
  void tick(time_us now);
  /// @returns When tick() has something to decide.
  [[nodiscard]] time_us wake_at() const;

  /// @returns Messages to send, in order, each once.
  [[nodiscard]] std::vector<outgoing> take_outgoing();
  /// @returns Tokens not yet taken, in order, each once.
  [[nodiscard]] std::vector<generated_token> take_tokens();

  [[nodiscard]] bool ended() const noexcept { return outcome_.has_value(); }
  /// @pre ended().
  [[nodiscard]] const generate_outcome& outcome() const { return *outcome_; }
  [[nodiscard]] time_us deadline() const noexcept { return setup_.accepted_at + setup_.budget_us; }
  [[nodiscard]] uint32_t attempt() const noexcept { return attempt_; }
  /// Which nodes serve the current attempt, once placed.
  [[nodiscard]] const std::optional<schema::placed>& partners() const noexcept { return placed_; }

private:
  enum class stage : uint8_t {
    admitting,
    guarding,
    placing,
    booking,
    prefilling,
    arriving,
    decoding,
    ended
  };

  void on(const schema::admitted& m, time_us now);
  void on(const schema::verdict& m, time_us now);
  void on(const schema::placed& m, time_us now);
  void on(const schema::booked& m, time_us now);
  void on(const schema::prefilled& m, time_us now);
  void on(const schema::arrived& m, time_us now);
  void on_refused(const schema::header& from, const schema::refused& m, time_us now);
  void on_peer_down(const schema::node_ref& peer, time_us now);
  [[nodiscard]] std::optional<error> invalid() const;

  void send(const schema::node_ref& to, schema::role role, schema::body what);
  void next_attempt(time_us now);
  void ask_for_place();
  void drop_partners(errc why);
  void retry(const schema::node_ref& culprit, const error& why, time_us now);
  void finish(finish_reason reason, errc code, std::string detail, time_us now);
  [[nodiscard]] uint32_t cache_tokens_max() const noexcept;
  [[nodiscard]] bool watches_progress() const noexcept;
  [[nodiscard]] uint64_t patience_us() const noexcept;

  setup setup_;
  stage stage_ = stage::admitting;
  uint32_t attempt_ = 0;
  std::optional<schema::placed> placed_;
  bool decode_told_ = false;
  bool prefill_told_ = false;
  std::vector<schema::node_ref> avoid_;
  std::vector<generated_token> tokens_;
  size_t taken_ = 0;
  std::vector<outgoing> outgoing_;
  std::optional<generate_outcome> outcome_;
  generate_outcome draft_; // Usage, timings and placement as they become known.
  time_us placed_at_ = 0;
  time_us place_again_at_ = 0; // 0: not waiting.
  time_us progress_at_ = 0;
  error last_trouble_;
};

} // namespace penstock::actors
