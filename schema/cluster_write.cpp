#include "schema/cluster_codec.hpp"
#include "schema/message.hpp"
#include "schema/text.hpp"
#include "schema/token_lists.hpp"

namespace penstock::schema {

namespace {

using body_builder = wire::Envelope::Body::Builder;

capnp::Data::Reader data_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

template <class List, class T>
void fill(List into, const std::vector<T>& from) {
  for (size_t i = 0; i < from.size(); ++i)
    into.set(static_cast<unsigned>(i), from[i]);
}

unsigned count_of(const auto& list) {
  return static_cast<unsigned>(list.size());
}

void write(const node_ref& from, wire::NodeRef::Builder into) {
  into.setNode(from.node);
  into.setIncarnation(from.incarnation);
}

void write(const admit& from, body_builder into) {
  auto to = into.initAdmit();
  to.setPromptTokens(from.prompt_tokens);
  to.setTokensMax(from.tokens_max);
}

void write(const admitted& from, body_builder into) {
  into.initAdmitted().setWaitedUs(from.waited_us);
}

void write(const retire& /*from*/, body_builder into) {
  into.setRetire();
}

void write(const screen& from, body_builder into) {
  into.initScreen().setText(text_of(from.text));
}

void write(const verdict& from, body_builder into) {
  auto to = into.initVerdict();
  to.setAllowed(from.allowed);
  to.setTimedOut(from.timed_out);
  to.setRule(text_of(from.rule));
  to.setTookUs(from.took_us);
}

void write(const place& from, body_builder into) {
  auto to = into.initPlace();
  to.setPromptTokens(from.prompt_tokens);
  to.setTokensMax(from.tokens_max);
  auto avoid = to.initAvoid(count_of(from.avoid));
  for (unsigned i = 0; i < avoid.size(); ++i)
    write(from.avoid[i], avoid[i]);
}

void write(const placed& from, body_builder into) {
  auto to = into.initPlaced();
  write(from.prefill, to.initPrefill());
  write(from.decode, to.initDecode());
}

void write(const refused& from, body_builder into) {
  auto to = into.initRefused();
  to.setCode(static_cast<uint8_t>(from.code));
  to.setDetail(text_of(cut_text(from.detail, message_limits::detail_bytes_max)));
  to.setRetryAfterUs(from.retry_after_us);
}

void write(const book& from, body_builder into) {
  auto to = into.initBook();
  write(from.prefill, to.initPrefill());
  fill(to.initTokens(count_of(from.tokens)), from.tokens);
  to.setPromptTokens(from.prompt_tokens);
  to.setTemperature(from.sampling.temperature);
  to.setSeed(from.sampling.seed);
  to.setTokensMax(from.sampling.tokens_max);
  to.setIgnoreEnd(from.sampling.ignore_end);
  fill(to.initEndIds(count_of(from.end_ids)), from.end_ids);
  to.setTopK(from.sampling.top_k);
  to.setTopP(from.sampling.top_p);
  to.setMinP(from.sampling.min_p);
  to.setRepetitionPenalty(from.sampling.repetition_penalty);
  to.setTokensMin(from.sampling.tokens_min);
  fill(to.initStopIds(count_of(from.sampling.stop_ids)), from.sampling.stop_ids);
  to.setTopLogprobs(from.sampling.top_logprobs);
  to.setPriority(static_cast<uint8_t>(from.priority));
  to.setCacheScope(text_of(from.cache_scope));
  to.setCacheTokensMax(from.cache_tokens_max);
}

void write(const booked& from, body_builder into) {
  into.initBooked().setCachedTokens(from.cached_tokens);
}

void write(const prefill& from, body_builder into) {
  auto to = into.initPrefill();
  write(from.decode, to.initDecode());
  fill(to.initTokens(count_of(from.tokens)), from.tokens);
  to.setSkip(from.skip);
  to.setPriority(static_cast<uint8_t>(from.priority));
  to.setCacheScope(text_of(from.cache_scope));
  to.setCacheTokensMax(from.cache_tokens_max);
}

void write(const begin& from, body_builder into) {
  auto to = into.initBegin();
  to.setTokens(from.tokens);
  to.setSkip(from.skip);
}

void write(const published& from, body_builder into) {
  auto to = into.initPublished();
  to.setFirstIndex(from.first_index);
  fill(to.initSourceBlocks(count_of(from.source_blocks)), from.source_blocks);
  fill(to.initGenerations(count_of(from.generations)), from.generations);
  fill(to.initDigests(count_of(from.digests)), from.digests);
  to.setLast(from.last);
}

void write(const landed& /*from*/, body_builder into) {
  into.setLanded();
}

void write(const prefilled& from, body_builder into) {
  auto to = into.initPrefilled();
  to.setQueueUs(from.queue_us);
  to.setComputeUs(from.compute_us);
  to.setComputedTokens(from.computed_tokens);
  to.setCachedTokens(from.cached_tokens);
}

void write(const arrived& from, body_builder into) {
  auto to = into.initArrived();
  to.setTransferUs(from.transfer_us);
  to.setExposedUs(from.exposed_us);
  to.setBytes(from.bytes);
  to.setTokens(from.tokens);
  to.setTransport(text_of(from.transport));
}

void write(const tokens& from, body_builder into) {
  auto rows = into.initTokens().initRows(count_of(from.rows));
  for (unsigned i = 0; i < rows.size(); ++i) {
    const auto& row = from.rows[i];
    auto to = rows[i];
    to.setRequest(row.request);
    to.setAttempt(row.attempt);
    to.setFirstIndex(row.first_index);
    write_token_lists(row.generated, to);
    to.setFinished(row.finished);
    to.setReason(static_cast<uint8_t>(row.reason));
  }
}

void write(const cancel& from, body_builder into) {
  into.initCancel().setCode(static_cast<uint8_t>(from.code));
}

void write(const heartbeat& from, body_builder into) {
  auto to = into.initHeartbeat();
  to.setNode(text_of(from.node));
  to.setVersion(text_of(from.version));
  auto roles = to.initRoles(count_of(from.roles));
  for (unsigned i = 0; i < roles.size(); ++i)
    roles.set(i, static_cast<uint8_t>(from.roles[i]));
  to.setReady(from.ready);
  to.setModelDigest(text_of(from.model_digest));
  to.setNumericsId(text_of(from.numerics_id));
  to.setKvGeometry(data_of(from.kv_geometry));
  to.setKvSource(data_of(from.kv_source));
  to.setKvSourceBlocks(from.kv_source_blocks);
  to.setQueuedTokens(from.queued_tokens);
  to.setRunningRows(from.running_rows);
  to.setBlocksFree(from.blocks_free);
  to.setBlocksCapacity(from.blocks_capacity);
  to.setSequence(from.sequence);
}

void write(const peer_down& from, body_builder into) {
  write(from.peer, into.initPeerDown());
}

// Elements beside the fixed part of a body, in bytes.
size_t variable_bytes(const auto& /*plain*/) {
  return 0;
}
size_t variable_bytes(const screen& b) {
  return b.text.size();
}
size_t variable_bytes(const verdict& b) {
  return b.rule.size();
}
size_t variable_bytes(const place& b) {
  return b.avoid.size() * 16;
}
size_t variable_bytes(const refused& b) {
  return b.detail.size();
}
size_t variable_bytes(const book& b) {
  return (b.tokens.size() + b.end_ids.size() + b.sampling.stop_ids.size()) * 4
         + b.cache_scope.size();
}
size_t variable_bytes(const prefill& b) {
  return b.tokens.size() * 4 + b.cache_scope.size();
}
size_t variable_bytes(const published& b) {
  return b.source_blocks.size() * 4 + (b.generations.size() + b.digests.size()) * 8;
}
size_t variable_bytes(const arrived& b) {
  return b.transport.size();
}
size_t variable_bytes(const tokens& b) {
  size_t bytes = 0;
  for (const auto& row : b.rows)
    bytes += 72 + token_lists_bytes(row.generated);
  return bytes;
}
size_t variable_bytes(const heartbeat& b) {
  return b.node.size() + b.version.size() + b.model_digest.size() + b.numerics_id.size()
         + b.kv_geometry.size() + b.kv_source.size();
}

} // namespace

size_t words_hint(const body& b) {
  // The envelope and the fixed part of the largest body, with every list's padding.
  static constexpr size_t fixed = 56;
  return fixed + std::visit([](const auto& x) { return variable_bytes(x); }, b) / 8;
}

void write_body(const body& from, wire::Envelope::Body::Builder into) {
  std::visit([into](const auto& x) { write(x, into); }, from);
}

} // namespace penstock::schema
