// No bytes make the tokenizer reader crash; what it accepts encodes, decodes and streams alike.
#include "base/check.hpp"
#include "model/detokenizer.hpp"
#include "model/tokenizer.hpp"
#include "model/utf8.hpp"

#include <string>

using namespace penstock::model;

namespace {

void exercise(const tokenizer& t, std::string_view text) {
  for (const bool special : {true, false}) {
    const auto ids = t.encode(text, {.add_special = special, .parse_special = special});
    if (!ids)
      continue;
    std::string streamed;
    detokenizer stream{t, {.skip_special = special}};
    for (const penstock::token_id id : *ids) {
      PS_CHECK(id < t.id_limit());
      streamed += stream.push(id);
    }
    streamed += stream.flush();
    PS_CHECK(!find_invalid_utf8(streamed));
    PS_CHECK(streamed == t.decode(*ids, {.skip_special = special}));
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span{data, size});
  const auto t = tokenizer::parse(bytes, "fuzz");
  if (!t)
    return 0;
  exercise(*t, "");
  exercise(*t, " Hello  world's 123 <s>\n\n\xC3\xA9 e\xCC\x81 \xF0\x9F\xA6\x99</s> ");
  exercise(*t, {reinterpret_cast<const char*>(data), size});
  return 0;
}
