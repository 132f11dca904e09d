#include "schema/token_stream.hpp"

#include "base/check.hpp"

namespace penstock::schema {

void token_stream::push(std::span<const generated_token> tokens, std::string_view text) {
  if (tokens.empty() && text.empty())
    return;
  {
    std::lock_guard lock{mutex_};
    if (closed_)
      return;
    PS_CHECK(!ended_);
    tokens_count_ += tokens.size();
    PS_CHECK(tokens_count_ <= tokens_max_);
    pending_.tokens.insert(pending_.tokens.end(), tokens.begin(), tokens.end());
    pending_.text += text;
    if (std::exchange(told_, true))
      return;
  }
  ready_->add(key_);
}

void token_stream::done(const generate_outcome& outcome) {
  {
    std::lock_guard lock{mutex_};
    if (closed_)
      return;
    PS_CHECK(!ended_);
    ended_ = true;
    pending_.outcome = outcome;
    if (std::exchange(told_, true))
      return;
  }
  ready_->add(key_);
}

token_stream::batch token_stream::take() {
  std::lock_guard lock{mutex_};
  told_ = false;
  return std::exchange(pending_, {});
}

void token_stream::close() {
  std::lock_guard lock{mutex_};
  closed_ = true;
  pending_ = {};
}

bool token_stream::ended() const {
  std::lock_guard lock{mutex_};
  return ended_;
}

} // namespace penstock::schema
