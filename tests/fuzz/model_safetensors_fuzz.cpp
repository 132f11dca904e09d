// No bytes, however wrong, make the safetensors reader crash or hand out a view outside of them.
#include "base/check.hpp"
#include "model/safetensors.hpp"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A mapping is aligned; the fuzzer's bytes need not be.
  std::vector<uint64_t> aligned((size + 7) / 8);
  if (size > 0)
    std::memcpy(aligned.data(), data, size);
  const auto bytes = std::as_bytes(std::span{aligned}).first(size);
  const auto contents = penstock::model::parse_safetensors(bytes, "fuzz");
  if (!contents)
    return 0;
  for (const auto& entry : contents->tensors) {
    if (!entry.view)
      continue;
    const auto view = entry.view->bytes();
    PS_CHECK(view.data() >= bytes.data() && view.size() <= bytes.size());
    PS_CHECK(view.data() + view.size() <= bytes.data() + bytes.size());
    (void)penstock::model::widened(*entry.view);
  }
  return 0;
}
