#include "fabric/mapped_transport.hpp"
#include "fabric/unix_channel.hpp"
#include "fabric/wire_bytes.hpp"
#include "tests/fabric/completions.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>

namespace penstock::fabric {
namespace {

class mapped_transport_pair : public testing::Test {
protected:
  mapped_transport_pair()
    : memory(*shared_memory::create_sealed(1U << 16U)), serving({&memory}), reading({}),
      from(*serving.serve(memory.bytes())), parsed(*parse_mapped(from)) {}

  [[nodiscard]] errc open(const mapped_descriptor& as) {
    auto region = reading.open(encode(as), done.handler());
    return region ? errc::ok : region.err().code;
  }

  completions done;
  shared_memory memory;
  mapped_transport serving;
  mapped_transport reading;
  descriptor from;
  mapped_descriptor parsed;
};

TEST_F(mapped_transport_pair, lets_in_who_knows_the_key_and_nobody_else) {
  EXPECT_EQ(open(parsed), errc::ok);
  auto wrong = parsed;
  wrong.key.low ^= 1;
  EXPECT_EQ(open(wrong), errc::peer_lost);
  wrong = parsed;
  wrong.name += "x";
  EXPECT_EQ(open(wrong), errc::peer_lost);
  wrong = parsed;
  wrong.size_bytes += 1;
  EXPECT_EQ(open(wrong), errc::incompatible);
  EXPECT_EQ(open(parsed), errc::ok);
}

TEST_F(mapped_transport_pair, closes_on_who_says_anything_else) {
  for (size_t size : {size_t{1}, mapped_hello_bytes, mapped_hello_bytes + 1, size_t{4000}}) {
    auto socket = connect_abstract(parsed.name, 1000);
    ASSERT_TRUE(socket);
    std::vector<std::byte> noise(size, std::byte{0x41});
    std::array<std::byte, 64> answer{};
    ASSERT_TRUE(send_packet(socket->get(), noise));
    EXPECT_EQ(receive_packet(socket->get(), answer).size_bytes, 0U) << size;
  }
  EXPECT_EQ(open(parsed), errc::ok);
}

TEST_F(mapped_transport_pair, turns_readers_away_when_full_and_takes_them_again) {
  std::vector<std::unique_ptr<remote_region>> regions;
  for (size_t i = 0; i < mapped_server::readers_max; ++i) {
    auto region = reading.open(from, done.handler());
    ASSERT_TRUE(region) << i;
    regions.push_back(std::move(*region));
  }
  EXPECT_EQ(open(parsed), errc::peer_lost);
  regions.clear();
  EXPECT_EQ(open(parsed), errc::ok);
}

TEST_F(mapped_transport_pair, serves_sealed_memory_only) {
  auto plain = *shared_memory::create_plain(4096);
  mapped_transport other{{&plain}};
  EXPECT_EQ(other.serve(plain.bytes()).err().code, errc::invalid_argument);
  mapped_transport none{{}};
  EXPECT_EQ(none.serve(memory.bytes()).err().code, errc::invalid_argument);
}

/// Plays a source that lies about its memory.
errc open_from_liar(int memfd, uint64_t size_bytes) {
  auto server = *mapped_server::start(memfd, size_bytes);
  mapped_transport reading{{}};
  auto region = reading.open(encode(server->described()), {});
  return region ? errc::ok : region.err().code;
}

TEST(mapped_transport, trusts_neither_size_nor_seals_of_a_source) {
  auto memory = *shared_memory::create_sealed(8192);
  EXPECT_EQ(open_from_liar(memory.fd(), 8192), errc::ok);
  EXPECT_EQ(open_from_liar(memory.fd(), 8193), errc::incompatible);
  EXPECT_EQ(open_from_liar(memory.fd(), 4096), errc::incompatible);
  unique_fd unsealed{memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  ASSERT_EQ(ftruncate(unsealed.get(), 8192), 0);
  EXPECT_EQ(open_from_liar(unsealed.get(), 8192), errc::incompatible);
}

} // namespace
} // namespace penstock::fabric
