#include "fabric/published_blocks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::fabric {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const transfer_geometry geometry{2, 8, 10, 6};

/// Blocks `first`.. with source block 2 x ordinal - first_index of the sequence being 3.
published message(uint32_t first, uint32_t count, bool last = false) {
  published out;
  out.first_index = first;
  out.last = last;
  for (uint32_t i = 0; i < count; ++i) {
    out.source_blocks.push_back(2 * (first + i - 3));
    out.generations.push_back(100 + first + i);
  }
  for (uint32_t layer = 0; layer < 2; ++layer)
    for (uint32_t i = 0; i < count; ++i)
      out.digests.push_back(1000 * layer + first + i);
  return out;
}

TEST(published_blocks, says_which_blocks_are_new_whatever_the_order) {
  published_blocks known{geometry, 3, 5};
  EXPECT_THAT(*known.add(message(6, 2, true)), ElementsAre(3, 4));
  EXPECT_FALSE(known.complete());
  EXPECT_THAT(*known.add(message(3, 4)), ElementsAre(0, 1, 2));
  EXPECT_TRUE(known.complete());
  EXPECT_THAT(*known.add(message(3, 4)), IsEmpty());
  EXPECT_EQ(known.source_block(4), 8U);
  EXPECT_EQ(known.generation(1), 104U);
  EXPECT_EQ(known.digest(1, 2), 1005U);
}

TEST(published_blocks, refuses_what_contradicts_it_and_keeps_nothing_of_it) {
  published_blocks known{geometry, 3, 5};
  ASSERT_TRUE(known.add(message(4, 1)));
  for (int what = 0; what < 3; ++what) {
    auto lie = message(3, 3);
    (what == 0 ? lie.generations[1] : what == 1 ? lie.digests[4] : lie.digests[1]) += 1;
    if (what == 2)
      lie.source_blocks[1] = 9;
    auto refused = known.add(lie);
    ASSERT_FALSE(refused) << what;
    EXPECT_EQ(refused.err().code, errc::malformed);
    EXPECT_THAT(refused.err().detail, HasSubstr("block 4 differs"));
  }
  EXPECT_THAT(*known.add(message(3, 3)), ElementsAre(0, 2));
}

TEST(published_blocks, refuses_what_does_not_fit_the_geometry) {
  published_blocks known{geometry, 3, 5};
  auto reason = [&known](const published& m) {
    auto got = known.add(m);
    return got ? std::string{"taken"} : got.err().detail;
  };
  EXPECT_THAT(reason(message(2, 1)), HasSubstr("outside"));
  EXPECT_THAT(reason(message(7, 2)), HasSubstr("outside"));
  EXPECT_THAT(reason(message(UINT32_MAX, 1)), HasSubstr("outside"));
  EXPECT_THAT(reason(message(3, 6)), HasSubstr("outside"));
  EXPECT_THAT(reason(message(3, 0)), HasSubstr("no block"));
  EXPECT_THAT(reason(message(3, 4, true)), HasSubstr("last ends at 7, wanted 8"));
  auto few = message(3, 2);
  few.generations.pop_back();
  EXPECT_THAT(reason(few), HasSubstr("1 generations for 2 blocks"));
  auto many = message(3, 2);
  many.digests.push_back(0);
  EXPECT_THAT(reason(many), HasSubstr("5 digests"));
  auto far = message(3, 1);
  far.source_blocks[0] = 10;
  EXPECT_THAT(reason(far), HasSubstr("source block 10 of 10"));
  EXPECT_EQ(reason(message(3, 5, true)), "taken");
}

TEST(published_blocks, of_an_empty_sequence_is_complete_with_the_last_message) {
  published_blocks known{geometry, 3, 0};
  EXPECT_FALSE(known.complete());
  EXPECT_FALSE(known.add(message(3, 1, true)));
  EXPECT_TRUE(known.add(message(3, 0, true)));
  EXPECT_TRUE(known.complete());
}

} // namespace
} // namespace penstock::fabric
