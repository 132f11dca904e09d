// No bytes make the config reader crash; what it accepts keeps its invariants and round-trips.
#include "base/check.hpp"
#include "model/config.hpp"

#include <string>

using namespace penstock::model;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  auto config = parse_config(bytes, "fuzz");
  if (!config)
    return 0;
  PS_CHECK(config->heads % config->kv_heads == 0 && config->head_dim % 2 == 0);
  PS_CHECK(config->vocab > 0 && config->context > 0 && config->hidden > 0);
  const std::string text = config_json_text(*config);
  const auto again = parse_config(std::as_bytes(std::span{text.data(), text.size()}), "again");
  PS_CHECK(again && *again == *config);
  (void)parse_generation_config(bytes, "fuzz", *config);
  return 0;
}
