// What every real transport must do, between two processes on one host.
#include "tests/fabric/completions.hpp"
#include "tests/fabric/source_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

namespace penstock::fabric {
namespace {

constexpr uint64_t mib = uint64_t{1} << 20U;
constexpr uint64_t source_bytes = 24 * mib;
constexpr uint64_t seed = 7;

class transports_between_processes : public testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    source.emplace(GetParam(), source_bytes, seed);
    ASSERT_FALSE(source->from().empty());
    expected.resize(source_bytes);
    fill_pattern(expected, seed);
    landing.assign(source_bytes, std::byte{0xEE});
    transport_options options;
    options.reads_in_flight_max = 8;
    options.connect_timeout_ms = 1000;
    auto made = make_transport(GetParam(), options);
    ASSERT_TRUE(made) << made.err().text();
    reader = std::move(*made);
    ASSERT_TRUE(reader->register_destination(landing));
  }
  void open() {
    auto opened = reader->open(source->from(), done.handler());
    ASSERT_TRUE(opened) << opened.err().text();
    region = std::move(*opened);
  }
  [[nodiscard]] bool lands(uint64_t offset, uint64_t size) {
    return std::equal(landing.begin(), landing.begin() + static_cast<ptrdiff_t>(size),
                      expected.begin() + static_cast<ptrdiff_t>(offset));
  }

  std::optional<source_process> source; // First: it forks before there are threads.
  std::vector<std::byte> expected;
  std::vector<std::byte> landing;
  completions done;
  std::unique_ptr<transport> reader;
  std::unique_ptr<remote_region> region;
};

TEST_P(transports_between_processes, bring_the_right_bytes_of_any_size_from_any_offset) {
  open();
  ASSERT_EQ(region->size_bytes(), source_bytes);
  uint64_t cookie = 0;
  for (uint64_t size : {uint64_t{1}, uint64_t{7}, 4 * mib / 1024, mib / 4, 4 * mib + 3})
    for (uint64_t offset : {uint64_t{0}, uint64_t{1}, 4095 * uint64_t{3}, source_bytes - size}) {
      std::fill(landing.begin(), landing.end(), std::byte{0xEE});
      ASSERT_TRUE(region->read(offset, std::span{landing}.first(size), ++cookie));
      ASSERT_TRUE(done.wait_for(cookie));
      ASSERT_EQ(done.code(cookie), errc::ok);
      EXPECT_TRUE(lands(offset, size)) << size << " at " << offset;
      EXPECT_EQ(landing[size], std::byte{0xEE}) << "wrote past the end";
    }
}

TEST_P(transports_between_processes, keep_to_the_window_and_finish_all_of_it) {
  open();
  uint64_t posted = 0;
  uint64_t refused = 0;
  for (uint64_t offset = 0; offset < source_bytes;) {
    auto into = std::span{landing}.subspan(offset, mib / 2);
    auto read = region->read(offset, into, posted);
    if (read) {
      ++posted;
      offset += into.size();
      continue;
    }
    ASSERT_EQ(read.err().code, errc::overloaded);
    ++refused;
    ASSERT_TRUE(done.wait_for(posted > 4 ? posted - 4 : 1));
  }
  ASSERT_TRUE(done.wait_for(posted));
  for (uint64_t cookie = 0; cookie < posted; ++cookie)
    EXPECT_EQ(done.code(cookie), errc::ok);
  EXPECT_TRUE(lands(0, source_bytes));
  EXPECT_GT(refused, 0U);
}

TEST_P(transports_between_processes, refuse_what_is_out_of_bounds_and_go_on) {
  open();
  auto one = std::span{landing}.first(1);
  for (auto [offset, size] : {std::pair{source_bytes, uint64_t{1}},
                              {source_bytes - 1, 2},
                              {UINT64_MAX, 1},
                              {0, 0},
                              {uint64_t{0} - 4, 8}}) {
    auto read = region->read(offset, std::span{landing}.first(size), 1);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.err().code, errc::invalid_argument);
  }
  ASSERT_TRUE(region->read(source_bytes - 1, one, 2));
  ASSERT_TRUE(done.wait_for(1));
  EXPECT_EQ(done.code(2), errc::ok);
}

TEST_P(transports_between_processes, let_a_second_region_go_while_the_first_reads_on) {
  open();
  completions other_done;
  auto other = reader->open(source->from(), other_done.handler());
  ASSERT_TRUE(other) << other.err().text();
  for (uint64_t cookie = 0; cookie < 3; ++cookie) {
    ASSERT_TRUE(region->read(cookie * 4 * mib,
                             std::span{landing}.subspan(cookie * 4 * mib, 4 * mib), cookie));
    auto into = std::span{landing}.subspan((cookie + 3) * 4 * mib, mib);
    ASSERT_TRUE((*other)->read(0, into, cookie));
  }
  other->reset();
  size_t told = other_done.count();
  ASSERT_TRUE(done.wait_for(3));
  EXPECT_TRUE(lands(0, 12 * mib));
  EXPECT_EQ(other_done.count(), told) << "a completion after the region had gone";
}

TEST_P(transports_between_processes, end_every_read_when_the_source_is_killed) {
  open();
  for (uint64_t cookie = 0; cookie < 6; ++cookie)
    ASSERT_TRUE(region->read(cookie * 4 * mib,
                             std::span{landing}.subspan(cookie * 4 * mib, 4 * mib), cookie));
  source->end();
  ASSERT_TRUE(done.wait_for(6));
  uint64_t cookie = 6;
  for (; done.code(cookie - 1) == errc::ok; ++cookie) { // It may have been faster than the kill.
    ASSERT_LT(cookie, 100U);
    if (!region->read(0, std::span{landing}.first(mib), cookie))
      break;
    ASSERT_TRUE(done.wait_for(cookie + 1));
  }
  for (uint64_t each = 0; each < done.count(); ++each)
    EXPECT_TRUE(done.code(each) == errc::ok || done.code(each) == errc::peer_lost
                || done.code(each) == errc::transfer_failed);
  auto refused = region->read(0, std::span{landing}.first(1), 1000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.err().code, errc::peer_lost);
  region.reset();
  auto again = reader->open(source->from(), done.handler());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.err().code, errc::peer_lost);
}

TEST_P(transports_between_processes, land_nothing_after_a_stalled_source_was_closed) {
  open();
  source->stop();
  for (uint64_t cookie = 0; cookie < 6; ++cookie)
    ASSERT_TRUE(region->read(cookie * 4 * mib,
                             std::span{landing}.subspan(cookie * 4 * mib, 4 * mib), cookie));
  region.reset();
  size_t told = done.count();
  std::fill(landing.begin(), landing.end(), std::byte{0xEE});
  source->signal(SIGCONT);
  // Bytes of the old reads, had they been on their way, would come before these.
  completions later_done;
  std::vector<std::byte> elsewhere(mib);
  ASSERT_TRUE(reader->register_destination(elsewhere));
  auto later = reader->open(source->from(), later_done.handler());
  ASSERT_TRUE(later) << later.err().text();
  for (uint64_t cookie = 0; cookie < 20; ++cookie) {
    ASSERT_TRUE((*later)->read(cookie, elsewhere, cookie));
    ASSERT_TRUE(later_done.wait_for(cookie + 1));
    ASSERT_EQ(later_done.code(cookie), errc::ok);
  }
  EXPECT_EQ(done.count(), told);
  EXPECT_TRUE(
    std::all_of(landing.begin(), landing.end(), [](std::byte b) { return b == std::byte{0xEE}; }));
}

TEST_P(transports_between_processes, survive_a_reader_that_goes_and_comes) {
  for (uint64_t cookie = 0; cookie < 5; ++cookie) {
    open();
    ASSERT_TRUE(region->read(cookie, std::span{landing}.first(mib), cookie));
    ASSERT_TRUE(done.wait_until(cookie));
    EXPECT_TRUE(lands(cookie, mib));
    ASSERT_TRUE(region->read(0, std::span{landing}.first(4 * mib), 100 + cookie));
    region.reset(); // With a read in flight.
  }
}

INSTANTIATE_TEST_SUITE_P(kinds, transports_between_processes,
                         testing::Values("mapped", "tcp;ofi_rxm"), [](const auto& kind) {
                           return std::string(kind.param) == "mapped" ? "mapped" : "tcp_ofi_rxm";
                         });

} // namespace
} // namespace penstock::fabric
