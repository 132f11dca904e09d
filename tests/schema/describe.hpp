// Every field of a message as text: what a round trip must keep, written without the codec's help.
#pragma once

#include "schema/cluster_messages.hpp"

#include <sstream>
#include <string>

namespace penstock::schema::testing {

class describer {
public:
  std::string of(const envelope& e) {
    const auto& h = e.header;
    add(h.from, h.to, static_cast<int>(h.to_role), h.request, h.attempt, h.budget_us);
    add(e.body.index());
    std::visit([this](const auto& b) { fields(b); }, e.body);
    return out_.str();
  }

private:
  template <class... T>
  void add(const T&... values) {
    (one(values), ...);
  }
  template <class T>
  void one(const T& value) {
    out_ << +value << ' ';
  }
  void one(float value) { out_ << std::hexfloat << value << ' '; }
  void one(const std::string& s) { out_ << s.size() << ':' << s << ' '; }
  void one(const node_ref& n) { add(n.node, n.incarnation); }
  void one(errc code) { add(static_cast<int>(code)); }
  void one(role r) { add(static_cast<int>(r)); }
  void one(std::byte b) { add(static_cast<int>(b)); }
  void one(priority_class p) { add(static_cast<int>(p)); }
  void one(const token_logprob& t) { add(t.id, t.logprob); }
  void one(const generated_token& t) { add(t.id, t.logprob, t.top); }
  void one(const tokens::row& r) {
    add(r.request, r.attempt, r.first_index, r.generated, r.finished, static_cast<int>(r.reason));
  }
  template <class T>
  void one(const std::vector<T>& list) {
    out_ << '[' << list.size() << ' ';
    for (const auto& x : list)
      one(x);
    out_ << ']';
  }

  void fields(const admit& b) { add(b.prompt_tokens, b.tokens_max); }
  void fields(const admitted& b) { add(b.waited_us); }
  void fields(const retire& /*b*/) {}
  void fields(const screen& b) { add(b.text); }
  void fields(const verdict& b) { add(b.allowed, b.timed_out, b.rule, b.took_us); }
  void fields(const place& b) { add(b.prompt_tokens, b.tokens_max, b.avoid); }
  void fields(const placed& b) { add(b.prefill, b.decode); }
  void fields(const refused& b) { add(b.code, b.detail, b.retry_after_us); }
  void fields(const book& b) {
    add(b.prefill, b.tokens, b.prompt_tokens, b.sampling.temperature, b.sampling.seed,
        b.sampling.tokens_max, b.sampling.ignore_end, b.sampling.top_k, b.sampling.top_p,
        b.sampling.min_p, b.sampling.repetition_penalty, b.sampling.tokens_min, b.sampling.stop_ids,
        b.end_ids, b.sampling.top_logprobs, b.priority, b.cache_scope, b.cache_tokens_max);
  }
  void fields(const booked& b) { add(b.cached_tokens); }
  void fields(const prefill& b) {
    add(b.decode, b.tokens, b.skip, b.priority, b.cache_scope, b.cache_tokens_max);
  }
  void fields(const begin& b) { add(b.tokens, b.skip); }
  void fields(const published& b) {
    add(b.first_index, b.source_blocks, b.generations, b.digests, b.last);
  }
  void fields(const landed& /*b*/) {}
  void fields(const prefilled& b) {
    add(b.queue_us, b.compute_us, b.computed_tokens, b.cached_tokens);
  }
  void fields(const arrived& b) {
    add(b.transfer_us, b.exposed_us, b.bytes, b.tokens, b.transport);
  }
  void fields(const tokens& b) { add(b.rows); }
  void fields(const cancel& b) { add(b.code); }
  void fields(const heartbeat& b) {
    add(b.node, b.version, b.roles, b.ready, b.model_digest, b.numerics_id, b.kv_geometry,
        b.kv_source, b.kv_source_blocks, b.queued_tokens, b.running_rows, b.blocks_free,
        b.blocks_capacity, b.sequence);
  }
  void fields(const peer_down& b) { add(b.peer); }

  std::ostringstream out_;
};

inline std::string describe(const header& h, const body& b) {
  return describer{}.of({h, b});
}

} // namespace penstock::schema::testing
