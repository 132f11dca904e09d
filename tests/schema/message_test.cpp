#include "describe.hpp"
#include "random_bodies.hpp"
#include "schema/message.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <limits>

namespace penstock::schema {
namespace {

using ::testing::HasSubstr;

constexpr size_t kinds = std::variant_size_v<body>;

TEST(message, keeps_every_field_of_every_body) {
  testing::random_bodies random{1};
  for (size_t kind = 0; kind < kinds; ++kind)
    for (int round = 0; round < 50; ++round) {
      auto h = random.next_header();
      auto b = random.next(kind);
      auto m = encode(h, b);
      auto travelled = message::from_bytes(m.bytes());
      ASSERT_TRUE(travelled);
      auto opened = decode(*travelled);
      ASSERT_TRUE(opened) << opened.err().text();
      EXPECT_EQ(testing::describe(opened->header, opened->body), testing::describe(h, b));
      auto routed = decode_header(*travelled);
      ASSERT_TRUE(routed);
      EXPECT_EQ(testing::describe(*routed, b), testing::describe(h, b));
    }
}

TEST(message, copies_share_their_words) {
  auto m = encode({}, retire{});
  auto copy = m;
  EXPECT_EQ(copy.bytes().data(), m.bytes().data());
  EXPECT_EQ(copy.size_bytes(), m.bytes().size());
}

TEST(message, same_content_gives_same_bytes) {
  testing::random_bodies one{5};
  testing::random_bodies two{5};
  for (size_t kind = 0; kind < kinds; ++kind) {
    auto h = one.next_header();
    auto a = encode(h, one.next(kind));
    auto g = two.next_header();
    auto b = encode(g, two.next(kind));
    EXPECT_TRUE(std::ranges::equal(a.bytes(), b.bytes()));
  }
}

TEST(message, the_longest_book_fits) {
  book b;
  b.tokens.assign(penstock::limits::context_tokens_max, 7);
  b.prompt_tokens = penstock::limits::context_tokens_max;
  auto opened = decode(encode({}, b));
  ASSERT_TRUE(opened);
  EXPECT_EQ(std::get<book>(opened->body).tokens, b.tokens);
  b.tokens.push_back(7);
  auto refused = decode(encode({}, b));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.err().detail, HasSubstr("book.tokens"));
}

TEST(message, an_empty_one_is_malformed) {
  EXPECT_EQ(decode(message{}).err().code, errc::malformed);
  EXPECT_EQ(decode_header(message{}).err().code, errc::malformed);
  auto empty = message::from_bytes({});
  ASSERT_TRUE(empty);
  EXPECT_EQ(decode(*empty).err().code, errc::malformed);
}

TEST(message, refuses_sizes_that_no_message_has) {
  std::vector<std::byte> bytes(penstock::limits::message_bytes_max + 8);
  EXPECT_EQ(message::from_bytes(bytes).err().code, errc::malformed);
  EXPECT_EQ(message::from_bytes(std::span{bytes}.first(9)).err().code, errc::malformed);
}

TEST(message, zeros_are_nobodys_message) {
  std::vector<std::byte> zeros(512);
  auto m = message::from_bytes(zeros);
  ASSERT_TRUE(m);
  auto opened = decode(*m);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.err().code, errc::malformed);
}

TEST(message, survives_any_truncation_and_any_flipped_byte) {
  testing::random_bodies random{3};
  for (size_t kind = 0; kind < kinds; ++kind) {
    auto m = encode(random.next_header(), random.next(kind));
    std::vector<std::byte> bytes{m.bytes().begin(), m.bytes().end()};
    for (size_t size = 0; size < bytes.size(); size += 8) {
      auto cut = message::from_bytes(std::span{bytes}.first(size));
      ASSERT_TRUE(cut);
      EXPECT_FALSE(decode(*cut)); // Its one segment is shorter than it says.
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      auto old = std::exchange(bytes[i], bytes[i] ^ std::byte{0xFF});
      auto flipped = message::from_bytes(bytes);
      ASSERT_TRUE(flipped);
      (void)decode(*flipped); // Any answer is right; a crash is not.
      bytes[i] = old;
    }
  }
}

// What an encoder of ours would never write, one field at a time.
struct bad {
  const char* what;
  body content;
};

std::vector<bad> bad_bodies() {
  auto with = [](auto b, auto change) {
    change(b);
    return body{b};
  };
  book good_book;
  good_book.tokens = {1, 2};
  good_book.prompt_tokens = 2;
  published good_published{0, {1, 2}, {1, 2}, {1, 2, 3, 4}, false};
  tokens good_tokens;
  good_tokens.rows.resize(1);
  good_tokens.rows[0].generated = {{1, -1.0F}};
  float nan = std::numeric_limits<float>::quiet_NaN();
  float infinity = std::numeric_limits<float>::infinity();
  return {
    {"refused.code", refused{errc::ok, "", 0}},
    {"cancel.code", cancel{errc::ok}},
    {"verdict.rule", verdict{true, false, std::string(257, 'x'), 0}},
    {"place.avoid", place{1, 1, std::vector<node_ref>(1025)}},
    {"book.prompt_tokens", with(good_book, [](book& b) { b.prompt_tokens = 0; })},
    {"book.prompt_tokens", with(good_book, [](book& b) { b.prompt_tokens = 3; })},
    {"book.temperature", with(good_book, [=](book& b) { b.sampling.temperature = nan; })},
    {"book.temperature", with(good_book, [](book& b) { b.sampling.temperature = 10.5F; })},
    {"book.temperature", with(good_book, [](book& b) { b.sampling.temperature = -0.5F; })},
    {"book.tokens_max", with(good_book, [](book& b) { b.sampling.tokens_max = 0; })},
    {"book.top_p", with(good_book, [](book& b) { b.sampling.top_p = 0.0F; })},
    {"book.top_p", with(good_book, [=](book& b) { b.sampling.top_p = nan; })},
    {"book.min_p", with(good_book, [](book& b) { b.sampling.min_p = 1.5F; })},
    {"book.repetition_penalty",
     with(good_book, [](book& b) { b.sampling.repetition_penalty = 0.0F; })},
    {"book.tokens_min", with(good_book, [](book& b) { b.sampling.tokens_min = 129; })},
    {"book.stop_ids", with(good_book, [](book& b) { b.sampling.stop_ids.resize(65); })},
    {"book.end_ids", with(good_book, [](book& b) { b.end_ids.resize(1025); })},
    {"prefill.skip", prefill{{}, {1, 2}, 3}},
    {"begin", begin{penstock::limits::context_tokens_max, 1}},
    {"published.generations", with(good_published, [](published& b) { b.generations.pop_back(); })},
    {"published.generations",
     with(good_published, [](published& b) { b.generations.push_back(1); })},
    {"published.digests", with(good_published, [](published& b) { b.digests.pop_back(); })},
    {"published.digests", with(good_published, [](published& b) { b.digests.clear(); })},
    {"published.digests", published{0, {}, {}, {1}, false}},
    {"published.first_index",
     with(good_published, [](published& b) { b.first_index = 0xFFFFFFFFU; })},
    {"arrived.transport", arrived{0, 0, 0, 0, std::string(257, 'x')}},
    {"logprob", with(good_tokens, [=](tokens& b) { b.rows[0].generated[0].logprob = nan; })},
    {"logprob", with(good_tokens, [=](tokens& b) { b.rows[0].generated[0].logprob = -infinity; })},
    {"reason", with(good_tokens, [](tokens& b) { b.rows[0].reason = finish_reason::failed; })},
    {"reason",
     with(good_tokens, [](tokens& b) { b.rows[0].reason = static_cast<finish_reason>(200); })},
    {"rows", with(good_tokens, [](tokens& b) { b.rows.resize(4097); })},
    {"heartbeat.roles", with(heartbeat{}, [](heartbeat& b) { b.roles = {role::session}; })},
    {"heartbeat.roles", with(heartbeat{}, [](heartbeat& b) { b.roles.resize(4, role::decode); })},
    {"heartbeat.node", with(heartbeat{}, [](heartbeat& b) { b.node.resize(257); })},
    {"heartbeat.kv_source", with(heartbeat{}, [](heartbeat& b) { b.kv_source.resize(65537); })},
    {"heartbeat.blocks_free", with(heartbeat{}, [](heartbeat& b) { b.blocks_free = 1; })},
  };
}

TEST(message, refuses_what_is_out_of_range_and_names_it) {
  for (const auto& [what, content] : bad_bodies()) {
    auto opened = decode(encode({}, content));
    ASSERT_FALSE(opened) << what;
    EXPECT_EQ(opened.err().code, errc::malformed);
    EXPECT_THAT(opened.err().detail, HasSubstr(what));
  }
}

TEST(message, an_unknown_role_is_refused_also_by_the_header) {
  auto m = encode({}, retire{});
  auto other = encode({{}, {}, role::decode, 0, 0, 0}, retire{});
  // The byte in which the two differ is the role.
  std::vector<std::byte> bytes{m.bytes().begin(), m.bytes().end()};
  size_t changed = 0;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (bytes[i] != other.bytes()[i]) {
      bytes[i] = std::byte{99};
      ++changed;
    }
  ASSERT_EQ(changed, 1U);
  auto altered = message::from_bytes(bytes);
  ASSERT_TRUE(altered);
  EXPECT_EQ(decode_header(*altered).err().code, errc::malformed);
  EXPECT_THAT(decode(*altered).err().detail, HasSubstr("to_role"));
}

TEST(message, cuts_long_details_between_characters) {
  std::string detail(4095, 'x');
  detail += "\xC3\xA4 and more";
  auto opened = decode(encode({}, refused{errc::internal, detail, 0}));
  ASSERT_TRUE(opened);
  EXPECT_EQ(std::get<refused>(opened->body).detail, std::string(4095, 'x'));
}

TEST(message, roles_have_names) {
  EXPECT_EQ(name_of(role::session), "session");
  EXPECT_EQ(name_of(role::decode), "decode");
  EXPECT_EQ(name_of(static_cast<role>(200)), "unknown");
}

} // namespace
} // namespace penstock::schema
