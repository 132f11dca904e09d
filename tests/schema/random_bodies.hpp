// Seeded random messages that decode() must accept, for round trips.
#pragma once

#include "base/rng.hpp"
#include "schema/cluster_messages.hpp"
#include "schema/message.hpp"

#include <string>
#include <vector>

namespace penstock::schema::testing {

class random_bodies {
public:
  explicit random_bodies(uint64_t seed) : rng_(seed) {}

  header next_header() {
    return {node(), node(), static_cast<role>(rng_.below(7)), rng_.next(), u32(), rng_.next()};
  }

  /// @param index Which alternative of `body`.
  body next(size_t index) {
    body out;
    make(index, out, std::make_index_sequence<std::variant_size_v<body>>{});
    return out;
  }

private:
  template <size_t... I>
  void make(size_t index, body& out, std::index_sequence<I...> /*all*/) {
    ((I == index ? void(out = fill(std::variant_alternative_t<I, body>{})) : void()), ...);
  }

  uint32_t u32() { return static_cast<uint32_t>(rng_.next()); }
  priority_class priority() { return static_cast<priority_class>(rng_.below(3)); }
  bool flag() { return rng_.below(2) == 1; }
  node_ref node() { return {u32(), rng_.next()}; }
  std::string text(size_t max) {
    std::string out(rng_.below(max + 1), 'x');
    for (auto& c : out)
      c = static_cast<char>(rng_.below(256)); // Zero bytes too.
    return out;
  }
  template <class T>
  std::vector<T> numbers(size_t count) {
    std::vector<T> out(count);
    for (auto& x : out)
      x = static_cast<T>(rng_.next());
    return out;
  }
  errc failure() {
    static constexpr errc all[] = {errc::invalid_argument, errc::overloaded, errc::cancelled,
                                   errc::peer_lost, errc::internal};
    return all[rng_.below(std::size(all))];
  }

  body fill(admit b) { return b = {u32(), u32()}; }
  body fill(admitted b) { return b = {rng_.next()}; }
  body fill(retire b) { return b; }
  body fill(screen b) {
    b.text = text(300);
    return b;
  }
  body fill(verdict b) { return b = {flag(), flag(), text(256), rng_.next()}; }
  body fill(place b) {
    b = {u32(), u32(), std::vector<node_ref>(rng_.below(5))};
    for (auto& n : b.avoid)
      n = node();
    return b;
  }
  body fill(placed b) { return b = {node(), node()}; }
  body fill(refused b) { return b = {failure(), text(400), rng_.next()}; }
  body fill(book b) {
    b.prefill = node();
    b.tokens = numbers<token_id>(1 + rng_.below(200));
    b.prompt_tokens = static_cast<uint32_t>(1 + rng_.below(b.tokens.size()));
    b.sampling = {rng_.unit() * 10.0F, rng_.next(), 1 + u32() % 1048576, flag(), u32(),
                  1.0F - rng_.unit(),  rng_.unit()};
    b.sampling.repetition_penalty = 10.0F * (1.0F - rng_.unit());
    b.sampling.tokens_min = static_cast<uint32_t>(rng_.below(uint64_t{b.sampling.tokens_max} + 1));
    b.sampling.stop_ids = numbers<token_id>(rng_.below(5));
    b.end_ids = numbers<token_id>(rng_.below(4));
    b.sampling.top_logprobs = static_cast<uint32_t>(rng_.below(21));
    b.priority = priority();
    b.cache_scope = text(256);
    b.cache_tokens_max = u32();
    return b;
  }
  body fill(booked b) { return b = {u32()}; }
  body fill(prefill b) {
    b = {node(), numbers<token_id>(rng_.below(200)), 0, priority(), text(256), u32()};
    b.skip = static_cast<uint32_t>(rng_.below(b.tokens.size() + 1));
    return b;
  }
  body fill(begin b) {
    return b = {static_cast<uint32_t>(rng_.below(5000)), static_cast<uint32_t>(rng_.below(5000))};
  }
  body fill(published b) {
    size_t blocks = rng_.below(9);
    b.first_index = static_cast<uint32_t>(rng_.below(1000));
    b.source_blocks = numbers<uint32_t>(blocks);
    b.generations = numbers<uint64_t>(blocks);
    b.digests = numbers<uint64_t>(blocks * (1 + rng_.below(4)));
    b.last = flag();
    return b;
  }
  body fill(landed b) { return b; }
  body fill(prefilled b) { return b = {rng_.next(), rng_.next(), u32(), u32()}; }
  body fill(arrived b) { return b = {rng_.next(), rng_.next(), rng_.next(), u32(), text(20)}; }
  body fill(tokens b) {
    b.rows.resize(rng_.below(6));
    for (auto& row : b.rows) {
      row = {rng_.next(), u32(),
             u32(),       std::vector<generated_token>(rng_.below(4)),
             flag(),      flag() ? finish_reason::stop : finish_reason::length};
      auto each = rng_.below(2) * rng_.below(21);
      for (auto& t : row.generated) {
        t = {u32(), -20.0F * rng_.unit(), std::vector<token_logprob>(each)};
        for (auto& other : t.top)
          other = {u32(), -20.0F * rng_.unit()};
      }
    }
    return b;
  }
  body fill(cancel b) { return b = {failure()}; }
  body fill(heartbeat b) {
    b.node = text(20);
    b.version = text(20);
    static constexpr role roles[] = {role::gateway, role::prefill, role::decode};
    b.roles.assign(roles, roles + rng_.below(4));
    b.ready = flag();
    b.model_digest = text(32);
    b.numerics_id = text(32);
    b.kv_geometry.resize(rng_.below(100), std::byte{7});
    b.kv_source.resize(rng_.below(100), std::byte{8});
    b.kv_source_blocks = u32();
    b.queued_tokens = u32();
    b.running_rows = u32();
    b.blocks_capacity = u32();
    b.blocks_free = static_cast<uint32_t>(rng_.below(uint64_t{b.blocks_capacity} + 1));
    b.sequence = rng_.next();
    return b;
  }
  body fill(peer_down b) { return b = {node()}; }

  rng rng_;
};

} // namespace penstock::schema::testing
