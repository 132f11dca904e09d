#include "cluster/endpoint.hpp"

#include <gtest/gtest.h>

namespace penstock::cluster {
namespace {

TEST(endpoint, reads_both_families_and_localhost) {
  EXPECT_EQ(parse_endpoint("127.0.0.1:7600")->text(), "127.0.0.1:7600");
  EXPECT_EQ(parse_endpoint("localhost:1")->text(), "127.0.0.1:1");
  EXPECT_EQ(parse_endpoint("[0:0:0:0:0:0:0:1]:65535")->text(), "[::1]:65535");
  EXPECT_EQ(parse_endpoint("[2001:DB8::1]:80")->text(), "[2001:db8::1]:80");
}

TEST(endpoint, refuses_what_is_not_one_with_a_hint) {
  for (std::string_view text : {"",
                                ":",
                                "127.0.0.1",
                                "127.0.0.1:",
                                ":7600",
                                "127.0.0.1:0",
                                "127.0.0.1:65536",
                                "127.0.0.1:-1",
                                "127.0.0.1:76 00",
                                "127.0.0.1:+7",
                                "::1:7600",
                                "[::1:7600",
                                "[]:7600",
                                "[::1%lo]:7600",
                                "example.org:80",
                                "127.1:80",
                                "010.0.0.1:80",
                                "1.2.3.4.5:80",
                                "[127.0.0.1]:80",
                                "127.0.0.1:99999999999999999999"}) {
    auto got = parse_endpoint(text);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.err().code, errc::invalid_argument);
    EXPECT_FALSE(got.err().detail.empty());
  }
  EXPECT_FALSE(parse_endpoint(std::string_view{"127.0.0.1\0x:80", 14}));
}

TEST(endpoint, knows_loopback_and_wildcard) {
  EXPECT_TRUE(parse_endpoint("127.9.9.9:1")->is_loopback());
  EXPECT_TRUE(parse_endpoint("[::1]:1")->is_loopback());
  EXPECT_FALSE(parse_endpoint("10.0.0.1:1")->is_loopback());
  EXPECT_TRUE(parse_endpoint("0.0.0.0:1")->is_wildcard());
  EXPECT_TRUE(parse_endpoint("[::]:1")->is_wildcard());
  EXPECT_FALSE(parse_endpoint("0.0.0.0:1")->is_loopback());
}

TEST(endpoint, wildcards_collide_with_every_address_on_their_port) {
  auto at = [](std::string_view text) { return *parse_endpoint(text); };
  EXPECT_TRUE(at("127.0.0.1:1").collides_with(at("127.0.0.1:1")));
  EXPECT_TRUE(at("127.0.0.1:1").collides_with(at("0.0.0.0:1")));
  EXPECT_TRUE(at("[::]:1").collides_with(at("127.0.0.1:1")));
  EXPECT_FALSE(at("127.0.0.1:1").collides_with(at("127.0.0.2:1")));
  EXPECT_FALSE(at("0.0.0.0:1").collides_with(at("0.0.0.0:2")));
}

} // namespace
} // namespace penstock::cluster
