#include "base/limits.hpp"
#include "schema/cluster_codec.hpp"
#include "schema/message.hpp"
#include "schema/request_check.hpp"
#include "schema/text.hpp"
#include "schema/token_lists.hpp"

#include <string>

namespace penstock::schema {

namespace {

using penstock::limits::context_tokens_max;
namespace lim = message_limits;

// Remembers the first thing that is wrong. Readers go on with empty values after it.
class checks {
public:
  bool require(bool holds, const char* what) {
    if (!holds && first_.empty())
      first_ = what;
    return holds;
  }
  [[nodiscard]] const std::string& first() const noexcept { return first_; }

private:
  std::string first_;
};

template <class List>
auto list(List from, size_t max, const char* what, checks& check) {
  std::vector<std::decay_t<decltype(from[0])>> out;
  if (!check.require(from.size() <= max, what))
    return out;
  out.reserve(from.size());
  for (auto value : from)
    out.push_back(value);
  return out;
}

std::string text(capnp::Text::Reader from, size_t max, const char* what, checks& check) {
  return check.require(from.size() <= max, what) ? string_of(from) : std::string{};
}

std::vector<std::byte> data(capnp::Data::Reader from, size_t max, const char* what, checks& check) {
  if (!check.require(from.size() <= max, what))
    return {};
  const auto* first = reinterpret_cast<const std::byte*>(from.begin());
  return {first, first + from.size()};
}

// A refusal must have a reason, or it would read as success.
errc failure_code(uint8_t value, const char* what, checks& check) {
  auto code = errc_from(value);
  check.require(code != errc::ok, what);
  return code;
}

priority_class priority(uint8_t value, const char* what, checks& check) {
  check.require(value <= static_cast<uint8_t>(priority_class::batch), what);
  return static_cast<priority_class>(value);
}

node_ref read(wire::NodeRef::Reader from) {
  return {from.getNode(), from.getIncarnation()};
}

body read(wire::Admit::Reader from, checks& /*check*/) {
  return admit{from.getPromptTokens(), from.getTokensMax()};
}

body read(wire::Admitted::Reader from, checks& /*check*/) {
  return admitted{from.getWaitedUs()};
}

body read(wire::Screen::Reader from, checks& check) {
  return screen{text(from.getText(), penstock::limits::prompt_bytes_max,
                     "screen.text is longer than a prompt may be", check)};
}

body read(wire::Verdict::Reader from, checks& check) {
  return verdict{from.getAllowed(), from.getTimedOut(),
                 text(from.getRule(), lim::name_bytes_max, "verdict.rule is too long", check),
                 from.getTookUs()};
}

body read(wire::Place::Reader from, checks& check) {
  place out{from.getPromptTokens(), from.getTokensMax(), {}};
  auto avoid = from.getAvoid();
  if (check.require(avoid.size() <= lim::avoid_max, "place.avoid has too many nodes"))
    for (auto node : avoid)
      out.avoid.push_back(read(node));
  return out;
}

body read(wire::Placed::Reader from, checks& /*check*/) {
  return placed{read(from.getPrefill()), read(from.getDecode())};
}

body read(wire::Refused::Reader from, checks& check) {
  return refused{failure_code(from.getCode(), "refused.code is ok", check),
                 text(from.getDetail(), lim::detail_bytes_max, "refused.detail is too long", check),
                 from.getRetryAfterUs()};
}

body read(wire::Book::Reader from, checks& check) {
  book out;
  out.prefill = read(from.getPrefill());
  out.tokens
    = list(from.getTokens(), context_tokens_max, "book.tokens exceeds the largest context", check);
  out.prompt_tokens = from.getPromptTokens();
  check.require(out.prompt_tokens >= 1 && out.prompt_tokens <= out.tokens.size(),
                "book.prompt_tokens is not in [1, number of tokens]");
  out.sampling = {from.getTemperature(), from.getSeed(), from.getTokensMax(), from.getIgnoreEnd(),
                  from.getTopK(),        from.getTopP(), from.getMinP()};
  out.sampling.repetition_penalty = from.getRepetitionPenalty();
  out.sampling.tokens_min = from.getTokensMin();
  out.sampling.stop_ids = list(from.getStopIds(), request_limits::stop_ids_max,
                               "book.stop_ids has too many ids", check);
  out.sampling.top_logprobs = from.getTopLogprobs();
  auto wrong = wrong_sampling(out.sampling);
  check.require(!wrong, ("book." + wrong.value_or("")).c_str());
  out.end_ids = list(from.getEndIds(), lim::end_ids_max, "book.end_ids has too many ids", check);
  out.priority = priority(from.getPriority(), "book.priority is no class", check);
  out.cache_scope
    = text(from.getCacheScope(), lim::cache_scope_bytes_max, "book.cache_scope is too long", check);
  out.cache_tokens_max = from.getCacheTokensMax();
  return out;
}

body read(wire::Booked::Reader from, checks& /*check*/) {
  return booked{from.getCachedTokens()};
}

body read(wire::Prefill::Reader from, checks& check) {
  prefill out;
  out.decode = read(from.getDecode());
  out.tokens = list(from.getTokens(), context_tokens_max,
                    "prefill.tokens exceeds the largest context", check);
  out.skip = from.getSkip();
  check.require(out.skip <= out.tokens.size(), "prefill.skip exceeds the number of tokens");
  out.priority = priority(from.getPriority(), "prefill.priority is no class", check);
  out.cache_scope = text(from.getCacheScope(), lim::cache_scope_bytes_max,
                         "prefill.cache_scope is too long", check);
  out.cache_tokens_max = from.getCacheTokensMax();
  return out;
}

body read(wire::Begin::Reader from, checks& check) {
  begin out{from.getTokens(), from.getSkip()};
  check.require(uint64_t{out.tokens} + out.skip <= context_tokens_max,
                "begin: tokens and skip exceed the largest context");
  return out;
}

body read(wire::Published::Reader from, checks& check) {
  published out;
  out.first_index = from.getFirstIndex();
  out.source_blocks = list(from.getSourceBlocks(), lim::blocks_max,
                           "published.source_blocks has too many blocks", check);
  size_t blocks = out.source_blocks.size();
  check.require(out.first_index <= lim::blocks_max - blocks,
                "published.first_index lies beyond the largest context");
  out.generations = list(from.getGenerations(), blocks,
                         "published.generations is not one per source block", check);
  check.require(out.generations.size() == blocks,
                "published.generations is not one per source block");
  out.digests = list(from.getDigests(), blocks * lim::layers_max,
                     "published.digests has too many digests", check);
  check.require(blocks == 0 || (out.digests.size() % blocks == 0 && !out.digests.empty()),
                "published.digests is not the same number for each source block");
  out.last = from.getLast();
  return out;
}

body read(wire::Prefilled::Reader from, checks& /*check*/) {
  return prefilled{from.getQueueUs(), from.getComputeUs(), from.getComputedTokens(),
                   from.getCachedTokens()};
}

body read(wire::Arrived::Reader from, checks& check) {
  return arrived{
    from.getTransferUs(), from.getExposedUs(), from.getBytes(), from.getTokens(),
    text(from.getTransport(), lim::name_bytes_max, "arrived.transport is too long", check)};
}

tokens::row read(wire::Tokens::Row::Reader from, checks& check) {
  tokens::row row;
  row.request = from.getRequest();
  row.attempt = from.getAttempt();
  row.first_index = from.getFirstIndex();
  if (const char* wrong = read_token_lists(from, context_tokens_max, row.generated))
    check.require(false, (std::string{"tokens: a row "} + wrong).c_str());
  row.finished = from.getFinished();
  row.reason = static_cast<finish_reason>(from.getReason());
  check.require(row.reason == finish_reason::stop || row.reason == finish_reason::length,
                "tokens: a row's reason is neither stop nor length");
  return row;
}

body read(wire::Tokens::Reader from, checks& check) {
  tokens out;
  auto rows = from.getRows();
  if (check.require(rows.size() <= lim::rows_max, "tokens.rows has too many rows")) {
    out.rows.reserve(rows.size());
    for (auto row : rows)
      out.rows.push_back(read(row, check));
  }
  return out;
}

body read(wire::Cancel::Reader from, checks& check) {
  return cancel{failure_code(from.getCode(), "cancel.code is ok", check)};
}

void read_roles(wire::Heartbeat::Reader from, heartbeat& out, checks& check) {
  auto roles = from.getRoles();
  if (!check.require(roles.size() <= lim::roles_max, "heartbeat.roles has too many roles"))
    return;
  for (auto value : roles) {
    auto r = static_cast<role>(value);
    check.require(r == role::gateway || r == role::prefill || r == role::decode,
                  "heartbeat.roles has something else than gateway, prefill and decode");
    out.roles.push_back(r);
  }
}

body read(wire::Heartbeat::Reader from, checks& check) {
  heartbeat out;
  out.node = text(from.getNode(), lim::name_bytes_max, "heartbeat.node is too long", check);
  out.version
    = text(from.getVersion(), lim::name_bytes_max, "heartbeat.version is too long", check);
  read_roles(from, out, check);
  out.ready = from.getReady();
  out.model_digest
    = text(from.getModelDigest(), lim::name_bytes_max, "heartbeat.model_digest is too long", check);
  out.numerics_id
    = text(from.getNumericsId(), lim::name_bytes_max, "heartbeat.numerics_id is too long", check);
  out.kv_geometry = data(from.getKvGeometry(), lim::kv_geometry_bytes_max,
                         "heartbeat.kv_geometry is too long", check);
  out.kv_source
    = data(from.getKvSource(), lim::kv_source_bytes_max, "heartbeat.kv_source is too long", check);
  out.kv_source_blocks = from.getKvSourceBlocks();
  out.queued_tokens = from.getQueuedTokens();
  out.running_rows = from.getRunningRows();
  out.blocks_free = from.getBlocksFree();
  out.blocks_capacity = from.getBlocksCapacity();
  check.require(out.blocks_free <= out.blocks_capacity,
                "heartbeat.blocks_free exceeds blocks_capacity");
  out.sequence = from.getSequence();
  return out;
}

body read_any(wire::Envelope::Body::Reader from, checks& check) {
  using which = wire::Envelope::Body;
  switch (from.which()) {
  case which::UNKNOWN:
    break;
  case which::ADMIT:
    return read(from.getAdmit(), check);
  case which::ADMITTED:
    return read(from.getAdmitted(), check);
  case which::RETIRE:
    return retire{};
  case which::SCREEN:
    return read(from.getScreen(), check);
  case which::VERDICT:
    return read(from.getVerdict(), check);
  case which::PLACE:
    return read(from.getPlace(), check);
  case which::PLACED:
    return read(from.getPlaced(), check);
  case which::REFUSED:
    return read(from.getRefused(), check);
  case which::BOOK:
    return read(from.getBook(), check);
  case which::BOOKED:
    return read(from.getBooked(), check);
  case which::PREFILL:
    return read(from.getPrefill(), check);
  case which::BEGIN:
    return read(from.getBegin(), check);
  case which::PUBLISHED:
    return read(from.getPublished(), check);
  case which::LANDED:
    return landed{};
  case which::PREFILLED:
    return read(from.getPrefilled(), check);
  case which::ARRIVED:
    return read(from.getArrived(), check);
  case which::TOKENS:
    return read(from.getTokens(), check);
  case which::CANCEL:
    return read(from.getCancel(), check);
  case which::HEARTBEAT:
    return read(from.getHeartbeat(), check);
  case which::PEER_DOWN:
    return peer_down{read(from.getPeerDown())};
  }
  check.require(false, "the body is of a kind unknown to this version");
  return retire{};
}

} // namespace

result<body> read_body(wire::Envelope::Body::Reader from) {
  checks check;
  auto out = read_any(from, check);
  if (!check.first().empty())
    return error{errc::malformed, check.first()};
  return out;
}

} // namespace penstock::schema
