// Descriptors and descriptor sets are foreign bytes: any are parsed or refused, and what is parsed
// is encoded to the same bytes again.
#include "fabric/descriptor_set.hpp"
#include "fabric/descriptors.hpp"

#include <algorithm>

using namespace penstock;
using namespace penstock::fabric;

namespace {

template <class Parse>
void check(std::span<const std::byte> in, Parse parse) {
  auto parsed = parse(in);
  if (parsed)
    PS_CHECK(std::ranges::equal(encode(*parsed), in));
  else
    PS_CHECK(!parsed.err().detail.empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::span in{reinterpret_cast<const std::byte*>(data), size};
  check(in, parse_mapped);
  check(in, parse_libfabric);
  check(in, parse_local);
  check(in, parse_descriptor_set);
  if (auto set = parse_descriptor_set(in)) {
    auto at = choose(*set, set->host, "auto");
    PS_CHECK(!at || *at < set->entries.size());
    for (const auto& entry : set->entries)
      check(entry.from, parse_mapped);
  }
  return 0;
}
