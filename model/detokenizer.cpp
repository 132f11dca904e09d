#include "model/detokenizer.hpp"

#include "model/tokenizer_parts.hpp"
#include "model/utf8.hpp"

#include <utility>

namespace penstock::model {

void detokenizer::skip(std::span<const token_id> ids) {
  for (const token_id id : ids)
    (void)push(id);
}

std::string detokenizer::push(token_id id) {
  from_.parts_->append_bytes(held_, id, options_, at_);
  const size_t final_bytes = held_.size() - incomplete_utf8_tail(held_);
  std::string out = to_valid_utf8(std::string_view{held_}.substr(0, final_bytes));
  held_.erase(0, final_bytes);
  return out;
}

std::string detokenizer::flush() {
  return to_valid_utf8(std::exchange(held_, {}));
}

} // namespace penstock::model
