#include "actors/request_story.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::actors {
namespace {

using schema::role;

struct request_story_test : ::testing::Test {
  static constexpr schema::node_ref gateway{0, 1};
  static constexpr schema::node_ref prefill{1, 1};
  static constexpr schema::node_ref decode{2, 1};

  static request_story::setup setup(size_t prompt = 3) {
    request_story::setup s;
    s.self = gateway;
    s.request = 7;
    s.prompt.assign(prompt, 4);
    s.sampling.tokens_max = 4;
    s.context_tokens = 16;
    s.budget_us = 900'000;
    return s;
  }
  static schema::header from(const schema::node_ref& who, const request_story& story) {
    schema::header h;
    h.from = who;
    h.to = gateway;
    h.request = 7;
    h.attempt = story.attempt();
    return h;
  }
  template <class T>
  static void hear(request_story& story, const schema::node_ref& who, T what, time_us now) {
    story.receive(from(who, story), schema::body{std::move(what)}, now);
  }
  static void token(request_story& story, uint32_t index, token_id id, bool last, time_us now) {
    schema::tokens::row row{7, story.attempt(), index, {{id, -0.5F}}, last, finish_reason::length};
    story.receive(decode, row, now);
  }
  static void place(request_story& story, time_us now) {
    hear(story, gateway, schema::placed{prefill, decode}, now);
  }
  /// Walks to the point where prefill computes.
  static void to_prefilling(request_story& story) {
    story.begin(0);
    hear(story, gateway, schema::admitted{}, 10);
    hear(story, gateway, schema::verdict{}, 20);
    place(story, 30);
    hear(story, decode, schema::booked{}, 40);
    (void)story.take_outgoing();
  }
  static std::vector<role> roles(const std::vector<request_story::outgoing>& all) {
    std::vector<role> out;
    for (const auto& o : all)
      out.push_back(o.to_role);
    return out;
  }
};

TEST_F(request_story_test, tells_both_partners_how_urgent_it_is_and_what_it_may_share) {
  auto s = setup();
  s.priority = priority_class::batch;
  s.cache_scope = "s1:x";
  s.answer_may_be_cut = true;
  request_story story{s};
  story.begin(0);
  hear(story, gateway, schema::admitted{}, 10);
  hear(story, gateway, schema::verdict{}, 20);
  (void)story.take_outgoing();
  place(story, 30);
  auto booking = std::get<schema::book>(story.take_outgoing().at(0).what);
  hear(story, decode, schema::booked{}, 40);
  auto work = std::get<schema::prefill>(story.take_outgoing().at(0).what);
  EXPECT_EQ(booking.priority, priority_class::batch);
  EXPECT_EQ(work.priority, priority_class::batch);
  EXPECT_EQ(booking.cache_scope, "s1:x");
  EXPECT_EQ(work.cache_scope, "s1:x");
  EXPECT_EQ(booking.cache_tokens_max, 3u); // The prompt.
  EXPECT_EQ(work.cache_tokens_max, 3u);
}

TEST_F(request_story_test, goes_through_every_stage_once) {
  request_story story{setup()};
  story.begin(0);
  EXPECT_THAT(roles(story.take_outgoing()), testing::ElementsAre(role::admission));
  hear(story, gateway, schema::admitted{}, 10);
  EXPECT_THAT(roles(story.take_outgoing()), testing::ElementsAre(role::guardrail));
  hear(story, gateway, schema::verdict{}, 20);
  EXPECT_THAT(roles(story.take_outgoing()), testing::ElementsAre(role::directory));
  place(story, 30);
  EXPECT_THAT(roles(story.take_outgoing()), testing::ElementsAre(role::decode));
  hear(story, decode, schema::booked{}, 40);
  auto to_prefill = story.take_outgoing();
  ASSERT_EQ(to_prefill.size(), 1u);
  EXPECT_EQ(std::get<schema::prefill>(to_prefill[0].what).tokens.size(), 2u); // All but the last.
  hear(story, prefill, schema::prefilled{5, 15, 2, 0}, 60);
  hear(story, decode, schema::arrived{9, 1, 4096, 2, "mapped"}, 70);
  token(story, 0, 11, false, 80);
  token(story, 1, 12, true, 90);
  ASSERT_TRUE(story.ended());
  const auto& o = story.outcome();
  EXPECT_EQ(o.reason, finish_reason::length);
  EXPECT_EQ(o.usage.prompt_tokens, 3u);
  EXPECT_EQ(o.usage.computed_tokens + o.usage.cached_tokens, 3u);
  EXPECT_EQ(o.usage.completion_tokens, 2u);
  EXPECT_EQ(o.timings.ttft_us, 80u);
  EXPECT_EQ(o.timings.transfer_bytes, 4096u);
  EXPECT_THAT(roles(story.take_outgoing()), testing::Contains(role::admission)); // retire
  EXPECT_EQ(story.take_tokens().size(), 2u);
}

TEST_F(request_story_test, refuses_at_the_door) {
  struct {
    request_story::setup what;
    errc code;
  } cases[] = {{setup(0), errc::prompt_empty}, {setup(16), errc::prompt_too_long}};
  for (auto& c : cases) {
    request_story story{c.what};
    story.begin(0);
    ASSERT_TRUE(story.ended());
    EXPECT_EQ(story.outcome().reason, finish_reason::refused);
    EXPECT_EQ(story.outcome().code, c.code);
  }
  auto no_time = setup();
  no_time.budget_us = 0;
  request_story story{no_time};
  story.begin(0);
  EXPECT_EQ(story.outcome().code, errc::deadline_exceeded);
}

TEST_F(request_story_test, a_prompt_one_under_the_context_is_taken) {
  request_story story{setup(15)};
  story.begin(0);
  EXPECT_FALSE(story.ended());
}

TEST_F(request_story_test, a_single_token_goes_straight_to_decode) {
  request_story story{setup(1)};
  story.begin(0);
  hear(story, gateway, schema::admitted{}, 10);
  hear(story, gateway, schema::verdict{}, 20);
  place(story, 30);
  (void)story.take_outgoing();
  hear(story, decode, schema::booked{}, 40);
  EXPECT_TRUE(story.take_outgoing().empty());
  token(story, 0, 11, true, 50);
  EXPECT_TRUE(story.ended());
}

TEST_F(request_story_test, a_blocked_prompt_ends_blocked) {
  request_story story{setup()};
  story.begin(0);
  hear(story, gateway, schema::admitted{}, 10);
  schema::verdict no;
  no.allowed = false;
  no.rule = "cards";
  hear(story, gateway, no, 20);
  EXPECT_EQ(story.outcome().reason, finish_reason::blocked);
  EXPECT_NE(story.outcome().detail.find("cards"), std::string::npos);
}

TEST_F(request_story_test, a_dead_prefill_is_replaced_before_the_kv_is_here) {
  request_story story{setup()};
  to_prefilling(story);
  story.receive({}, schema::peer_down{prefill}, 100);
  auto out = story.take_outgoing();
  EXPECT_THAT(roles(out), testing::ElementsAre(role::decode, role::prefill, role::directory));
  EXPECT_EQ(std::get<schema::place>(out[2].what).avoid.front(), prefill);
  EXPECT_EQ(story.attempt(), 2u);
  EXPECT_FALSE(story.ended());
}

TEST_F(request_story_test, a_dead_prefill_does_not_matter_once_decoding) {
  request_story story{setup()};
  to_prefilling(story);
  token(story, 0, 11, false, 80);
  story.receive({}, schema::peer_down{prefill}, 100);
  EXPECT_EQ(story.attempt(), 1u);
}

TEST_F(request_story_test, a_dead_decode_is_resumed_with_the_tokens_so_far) {
  request_story story{setup()};
  to_prefilling(story);
  token(story, 0, 11, false, 80);
  story.receive({}, schema::peer_down{decode}, 100);
  (void)story.take_outgoing();
  place(story, 110);
  auto out = story.take_outgoing();
  ASSERT_EQ(out.size(), 1u);
  const auto& book = std::get<schema::book>(out[0].what);
  EXPECT_EQ(book.prompt_tokens, 3u);
  EXPECT_EQ(book.tokens.size(), 4u);
  EXPECT_EQ(book.tokens.back(), 11u);
}

TEST_F(request_story_test, repeated_and_old_tokens_are_not_given_twice) {
  request_story story{setup()};
  to_prefilling(story);
  token(story, 0, 11, false, 80);
  token(story, 0, 11, false, 81);
  token(story, 1, 12, false, 82);
  token(story, 0, 11, false, 83);
  EXPECT_EQ(story.take_tokens().size(), 2u);
}

TEST_F(request_story_test, a_gap_in_the_tokens_is_never_given) {
  request_story story{setup()};
  to_prefilling(story);
  token(story, 1, 12, false, 80);
  EXPECT_TRUE(story.take_tokens().empty());
  EXPECT_EQ(story.attempt(), 2u);
}

TEST_F(request_story_test, words_of_an_earlier_attempt_are_ignored) {
  request_story story{setup()};
  to_prefilling(story);
  auto old = from(decode, story);
  story.receive({}, schema::peer_down{prefill}, 100);
  story.receive(old, schema::refused{errc::blocked, "late", 0}, 110);
  EXPECT_FALSE(story.ended());
}

TEST_F(request_story_test, waits_for_a_restarting_node_but_not_for_ever) {
  request_story story{setup()};
  story.begin(0);
  hear(story, gateway, schema::admitted{}, 10);
  hear(story, gateway, schema::verdict{}, 20);
  (void)story.take_outgoing();
  hear(story, gateway, schema::refused{errc::unavailable, "no decode node", 0}, 30);
  EXPECT_FALSE(story.ended());
  story.tick(story.wake_at());
  EXPECT_THAT(roles(story.take_outgoing()), testing::ElementsAre(role::directory));
  hear(story, gateway, schema::refused{errc::unavailable, "no decode node", 0}, 600'000);
  EXPECT_EQ(story.outcome().code, errc::unavailable);
}

TEST_F(request_story_test, partners_that_do_not_know_each_other_yet_get_time) {
  auto patient = setup();
  patient.budget_us = 60'000'000;
  request_story story{patient};
  to_prefilling(story);
  time_us now = 100;
  for (int i = 0; i < 5 && !story.ended(); ++i) {
    hear(story, decode, schema::refused{errc::unavailable, "not known here", 0}, now);
    if (story.attempt() > 2) {
      now = story.wake_at();
      story.tick(now);
    }
    place(story, now);
  }
  EXPECT_FALSE(story.ended());
  EXPECT_GE(now, 700'000u); // Several heartbeats later, still trying.
}

TEST_F(request_story_test, the_deadline_ends_it_and_frees_the_partners) {
  request_story story{setup()};
  to_prefilling(story);
  story.tick(story.deadline());
  EXPECT_EQ(story.outcome().reason, finish_reason::deadline);
  EXPECT_THAT(roles(story.take_outgoing()),
              testing::UnorderedElementsAre(role::decode, role::prefill, role::admission));
}

TEST_F(request_story_test, cancel_ends_once) {
  request_story story{setup()};
  to_prefilling(story);
  story.cancel(50);
  story.cancel(51);
  story.tick(story.deadline());
  EXPECT_EQ(story.outcome().reason, finish_reason::cancelled);
}

TEST_F(request_story_test, silence_while_decoding_is_a_lost_partner) {
  request_story story{setup()};
  to_prefilling(story);
  token(story, 0, 11, false, 80);
  story.tick(story.wake_at());
  EXPECT_EQ(story.attempt(), 2u);
  EXPECT_FALSE(story.ended());
}

TEST_F(request_story_test, a_stop_string_ends_it_and_cancels_decode_at_once) {
  request_story story{setup()};
  to_prefilling(story);
  hear(story, prefill, schema::prefilled{}, 50);
  hear(story, decode, schema::arrived{}, 60);
  token(story, 0, 10, false, 70);
  token(story, 1, 11, false, 80);
  (void)story.take_outgoing();
  story.stop(1, 90);
  ASSERT_TRUE(story.ended());
  EXPECT_EQ(story.outcome().reason, finish_reason::stop);
  EXPECT_EQ(story.outcome().code, errc::ok);
  EXPECT_EQ(story.outcome().usage.completion_tokens, 1u);
  auto out = story.take_outgoing();
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(out[0].to, decode);
  EXPECT_TRUE(std::holds_alternative<schema::cancel>(out[0].what));
}

TEST_F(request_story_test, a_stop_string_in_the_last_token_corrects_the_ending) {
  request_story story{setup()};
  to_prefilling(story);
  hear(story, prefill, schema::prefilled{}, 50);
  hear(story, decode, schema::arrived{}, 60);
  token(story, 0, 10, true, 70);
  ASSERT_EQ(story.outcome().reason, finish_reason::length);
  story.stop(0, 70);
  EXPECT_EQ(story.outcome().reason, finish_reason::stop);
  EXPECT_EQ(story.outcome().usage.completion_tokens, 0u);
}

} // namespace
} // namespace penstock::actors
