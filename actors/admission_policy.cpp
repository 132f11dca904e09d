#include "actors/admission_policy.hpp"

#include <algorithm>

namespace penstock::actors {

admission_policy::admission_policy(limits bounds) : bounds_(bounds) {
  PS_CHECK(bounds_.tokens_in_flight_max > 0);
}

bool admission_policy::fits(uint32_t tokens) const noexcept {
  return tokens <= bounds_.tokens_in_flight_max - tokens_in_flight_;
}

result<admission_policy::answer> admission_policy::ask(request_id request, uint32_t tokens,
                                                       time_us now) {
  PS_CHECK(tokens > 0);
  if (open_.contains(request))
    return answer::enter;
  auto same = [request](const waiter& w) { return w.request == request; };
  if (std::any_of(waiting_.begin(), waiting_.end(), same))
    return answer::wait;
  if (tokens > bounds_.tokens_in_flight_max)
    return error{errc::invalid_argument, "prompt plus max_tokens is " + std::to_string(tokens)
                                           + ", this gateway admits at most "
                                           + std::to_string(bounds_.tokens_in_flight_max)
                                           + " tokens in flight (admission.tokens_in_flight_max)"};
  if (waiting_.empty() && fits(tokens)) {
    open_.emplace(request, tokens);
    tokens_in_flight_ += tokens;
    return answer::enter;
  }
  if (waiting_.size() >= bounds_.queue_max)
    return error{errc::overloaded, std::to_string(tokens_in_flight_) + " tokens in flight and "
                                     + std::to_string(waiting_.size()) + " requests waiting"};
  waiting_.push_back({request, tokens, now});
  return answer::wait;
}

std::vector<admission_policy::turn> admission_policy::let_in(time_us now) {
  std::vector<turn> turns;
  while (!waiting_.empty() && fits(waiting_.front().tokens)) {
    auto w = waiting_.front();
    waiting_.pop_front();
    open_.emplace(w.request, w.tokens);
    tokens_in_flight_ += w.tokens;
    turns.push_back({w.request, now - w.since, false});
  }
  return turns;
}

std::vector<admission_policy::turn> admission_policy::retire(request_id request, time_us now) {
  std::erase_if(waiting_, [request](const waiter& w) { return w.request == request; });
  if (auto node = open_.extract(request)) {
    PS_CHECK(tokens_in_flight_ >= node.mapped());
    tokens_in_flight_ -= node.mapped();
    if (retired_at_ > 0)
      gap_us_ = (gap_us_ * 7 + (now - retired_at_)) / 8;
    retired_at_ = now;
  }
  return let_in(now);
}

std::vector<admission_policy::turn> admission_policy::expire(time_us now) {
  std::vector<turn> turns;
  std::erase_if(waiting_, [&](const waiter& w) {
    if (now - w.since < bounds_.queue_wait_us_max)
      return false;
    turns.push_back({w.request, now - w.since, true});
    return true;
  });
  for (auto& entered : let_in(now))
    turns.push_back(entered);
  return turns;
}

uint64_t admission_policy::retry_after_us() const noexcept {
  return std::max<uint64_t>(100'000, gap_us_ * (waiting_.size() + 1));
}

} // namespace penstock::actors
