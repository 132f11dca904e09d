// Foreign bytes as a message: they are refused, or what they say survives another round trip.
#include "base/check.hpp"
#include "schema/message.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

using namespace penstock;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto bytes = std::as_bytes(std::span{data, size - size % 8});
  auto m = schema::message::from_bytes(bytes);
  PS_CHECK(m);
  auto routed = schema::decode_header(*m);
  auto opened = schema::decode(*m);
  if (!opened)
    return 0;
  PS_CHECK(routed);
  auto again = schema::encode(opened->header, opened->body);
  auto reopened = schema::decode(again);
  PS_CHECK(reopened);
  auto third = schema::encode(reopened->header, reopened->body);
  PS_CHECK(std::ranges::equal(again.bytes(), third.bytes()));
  return 0;
}
