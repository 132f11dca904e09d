#include "model/safetensors.hpp"
#include "model/write_hf.hpp"
#include "model_test_support.hpp"

#include <gmock/gmock.h>

#include <cstring>

namespace penstock::model {
namespace {

using ::testing::HasSubstr;

// A file with this header text and this many bytes of data.
std::vector<std::byte> file_of(std::string header, size_t data_bytes) {
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  std::vector<std::byte> out(8 + header.size() + data_bytes);
  std::memcpy(out.data(), &length, 8);
  std::memcpy(out.data() + 8, header.data(), header.size());
  return out;
}

// Parses `header` over 64 bytes of data and returns the error, or "" if there is none.
std::string refusal(const std::string& header, size_t data_bytes = 64) {
  const auto file = file_of(header, data_bytes);
  const auto contents = parse_safetensors(file, "x.safetensors");
  return contents ? "" : contents.err().text();
}

TEST(safetensors, reads_back_what_was_written) {
  const float a[] = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F};
  const uint16_t b[] = {0x3F80, 0x4000};
  const auto file
    = safetensors_bytes({{"a", {std::as_bytes(std::span{a}).data(), dtype::f32, {2, 3}}},
                         {"b", {std::as_bytes(std::span{b}).data(), dtype::bf16, {2}}}},
                        {{"format", "pt"}});
  const auto contents = parse_safetensors(file, "x");
  ASSERT_TRUE(contents) << contents.err().text();
  ASSERT_EQ(contents->tensors.size(), 2u);
  EXPECT_EQ(contents->tensors[0].name, "a");
  EXPECT_EQ(contents->tensors[0].view->dims, (shape{2, 3}));
  EXPECT_EQ(widened(*contents->tensors[0].view), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(widened(*contents->tensors[1].view), (std::vector<float>{1, 2}));
  ASSERT_EQ(contents->metadata.size(), 1u);
  EXPECT_EQ(contents->metadata[0].second, "pt");
}

TEST(safetensors, keeps_tensors_of_other_dtypes_without_a_view) {
  const auto file = file_of(R"({"a":{"dtype":"I64","shape":[8],"data_offsets":[0,64]}})", 64);
  const auto contents = parse_safetensors(file, "x");
  ASSERT_TRUE(contents);
  EXPECT_FALSE(contents->tensors[0].view);
  EXPECT_EQ(contents->tensors[0].dtype_name, "I64");
}

TEST(safetensors, takes_empty_and_scalar_tensors) {
  EXPECT_EQ(refusal(R"({"e":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]},
                        "s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                    4),
            "");
}

TEST(safetensors, refuses_lies_about_the_header_length) {
  EXPECT_FALSE(parse_safetensors({}, "x"));
  auto file = file_of("{}", 0);
  EXPECT_TRUE(parse_safetensors(file, "x"));
  for (const uint64_t length : {uint64_t{9}, uint64_t{1} << 40U, ~uint64_t{0}, ~uint64_t{7}}) {
    std::memcpy(file.data(), &length, 8);
    EXPECT_FALSE(parse_safetensors(file, "x")) << length;
  }
}

TEST(safetensors, refuses_every_truncation) {
  const float a[] = {1.0F, 2.0F};
  const auto file
    = safetensors_bytes({{"a", {std::as_bytes(std::span{a}).data(), dtype::f32, {2}}}});
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parse_safetensors(std::span{file}.first(size), "x")) << size;
}

TEST(safetensors, refuses_offsets_outside_the_file) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[17],"data_offsets":[0,68]}})"),
              HasSubstr("leave the file"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[64,60]}})"),
              HasSubstr("leave the file"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})"),
              HasSubstr("two integers"));
}

TEST(safetensors, refuses_sizes_that_do_not_match_the_shape) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[15],"data_offsets":[0,64]}})"),
              HasSubstr("needs 60"));
  // 2^32 * 2^32 elements, and 2^62 of four bytes: both wrap to zero in 64 bits.
  EXPECT_THAT(
    refusal(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"),
    HasSubstr("more than can be counted"));
  EXPECT_THAT(
    refusal(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})"),
    HasSubstr("more than can be counted"));
  EXPECT_THAT(
    refusal(R"({"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})"),
    HasSubstr("more than can be counted"));
}

TEST(safetensors, refuses_overlap_hole_and_rest) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[10],"data_offsets":[0,40]},
                          "b":{"dtype":"F32","shape":[10],"data_offsets":[24,64]}})"),
              HasSubstr("overlap"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},
                          "b":{"dtype":"F32","shape":[8],"data_offsets":[32,64]}})"),
              HasSubstr("hole"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})"),
              HasSubstr("belong to no tensor"));
}

TEST(safetensors, refuses_misaligned_elements) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},
                          "b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                      6),
              HasSubstr("not aligned"));
}

TEST(safetensors, refuses_names_that_appear_twice) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[8],"data_offsets":[0,32]},
                          "a":{"dtype":"F32","shape":[8],"data_offsets":[32,64]}})"),
              HasSubstr("appears twice"));
}

TEST(safetensors, refuses_wrong_kinds_of_values) {
  for (
    const char* header :
    {"[]", "{\"a\":1}", R"({"a":{"dtype":"F32"}})",
     R"({"a":{"dtype":"F99","shape":[16],"data_offsets":[0,64]}})",
     R"({"a":{"dtype":4,"shape":[16],"data_offsets":[0,64]}})",
     R"({"a":{"dtype":"F32","shape":16,"data_offsets":[0,64]}})",
     R"({"a":{"dtype":"F32","shape":[16.0],"data_offsets":[0,64]}})",
     R"({"a":{"dtype":"F32","shape":[16],"data_offsets":[0]}})", R"({"__metadata__":{"a":1}})",
     R"({"__metadata__":[]})",
     R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,16],"data_offsets":[0,64]}})"})
    EXPECT_THAT(refusal(header), HasSubstr("malformed")) << header;
}

} // namespace
} // namespace penstock::model
