#include "fake_service.hpp"
#include "schema/token_stream.hpp"

#include <gmock/gmock.h>
#include <poll.h>

#include <thread>

namespace penstock::schema {
namespace {

struct token_stream_test : ::testing::Test {
  std::shared_ptr<post_box<uint64_t>> ready = std::make_shared<post_box<uint64_t>>();
  token_stream stream{7, 10, ready};

  bool rings() {
    pollfd p{ready->waker().fd(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
  }
};

TEST_F(token_stream_test, gathers_until_taken_and_tells_once) {
  EXPECT_FALSE(rings());
  testing::push_numbers(stream, 3);
  EXPECT_TRUE(rings());
  EXPECT_THAT(ready->take(), ::testing::ElementsAre(7));
  EXPECT_FALSE(rings());
  testing::push_numbers(stream, 2);
  EXPECT_FALSE(rings()); // Nobody has taken yet, and will.
  auto batch = stream.take();
  EXPECT_EQ(batch.tokens.size(), 5U);
  EXPECT_EQ(batch.text, "0 1 2 0 1 ");
  EXPECT_FALSE(batch.outcome);
  EXPECT_TRUE(stream.take().empty());
  testing::push_numbers(stream, 1);
  EXPECT_TRUE(rings());
}

TEST_F(token_stream_test, brings_the_ending_with_the_last_tokens) {
  testing::push_numbers(stream, 2);
  stream.done(testing::ending(finish_reason::length));
  EXPECT_TRUE(stream.ended());
  auto batch = stream.take();
  EXPECT_EQ(batch.tokens.size(), 2U);
  ASSERT_TRUE(batch.outcome);
  EXPECT_EQ(batch.outcome->reason, finish_reason::length);
}

TEST_F(token_stream_test, an_empty_push_wakes_nobody_but_text_alone_does) {
  stream.push({}, "");
  EXPECT_FALSE(rings());
  stream.push({}, "held back");
  EXPECT_TRUE(rings());
  EXPECT_EQ(stream.take().text, "held back");
}

TEST_F(token_stream_test, ignores_everything_once_closed) {
  testing::push_numbers(stream, 2);
  stream.close();
  EXPECT_TRUE(stream.take().empty());
  testing::push_numbers(stream, 100);
  stream.done(testing::ending(finish_reason::stop));
  EXPECT_TRUE(stream.take().empty());
}

TEST_F(token_stream_test, loses_nothing_between_threads) {
  constexpr uint32_t count = 20'000;
  token_stream wide{1, count, ready};
  std::thread writer{[&wide] {
    testing::push_numbers(wide, count);
    wide.done(testing::ending(finish_reason::stop));
  }};
  uint32_t next = 0;
  for (bool over = false; !over;) {
    pollfd p{ready->waker().fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&p, 1, 20'000), 1);
    for ([[maybe_unused]] auto key : ready->take()) {
      auto batch = wide.take();
      for (const auto& t : batch.tokens)
        ASSERT_EQ(t.id, next++);
      over = over || batch.outcome.has_value();
    }
  }
  writer.join();
  EXPECT_EQ(next, count);
}

using token_stream_death = token_stream_test;

TEST_F(token_stream_death, more_tokens_than_asked_for_is_a_bug) {
  EXPECT_DEATH(testing::push_numbers(stream, 11), "check failed: tokens_count_ <= tokens_max_");
}

TEST_F(token_stream_death, two_endings_are_a_bug) {
  stream.done(testing::ending(finish_reason::stop));
  EXPECT_DEATH(stream.done(testing::ending(finish_reason::stop)), "check failed: !ended_");
}

} // namespace
} // namespace penstock::schema
