#include "ops/probes.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>

namespace penstock::ops {
namespace {

constexpr double seconds_per_us = 1e-6;

// Buckets in seconds unless said. The lower ends are small on purpose: on one host a transfer takes
// microseconds and a token a millisecond, and a floor of 5 or 10 ms would hide both.
constexpr double ttft_bounds[] = {.001, .0025, .005, .01, .025, .05, .1, .2, .4, .6, .8, 1,
                                  1.5,  2,     3,    4,   5,    8,   10, 15, 20, 30, 60, 120};
constexpr double itl_bounds[] = {.0005, .001, .002, .004, .006, .008, .01, .015, .02, .025, .03,
                                 .04,   .06,  .08,  .1,   .15,  .2,   .3,  .5,   .75, 1,    2};
constexpr double request_bounds[]
  = {.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 240, 480};
constexpr double stage_bounds[] = {.00001, .00005, .0001, .0005, .001, .0025, .005, .01, .025, .05,
                                   .1,     .25,    .5,    1,     2.5,  5,     10,   30,  60};
constexpr double step_bounds[]
  = {.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
constexpr double short_bounds[] = {.000001, .0000025, .000005, .00001, .000025, .00005, .0001,
                                   .00025,  .0005,    .001,    .0025,  .005,    .01,    .1};
constexpr double transfer_bounds[]
  = {.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01,
     .025,   .05,     .1,     .25,   .5,     1,     2.5,  5,     10};
constexpr double size_bounds[] = {1 << 12, 1 << 14, 1 << 16, 1 << 18,    1 << 20,   1 << 22,
                                  1 << 24, 1 << 26, 1 << 28, 1073741824, 4294967296};
constexpr double token_bounds[] = {1, 4, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
constexpr double row_bounds[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};

/// A counter per code of `codes`; every other code counts as "other".
template <size_t Count>
void fill(std::array<counter, Count>& into, metrics& m, const std::string& name,
          const std::string& help, std::initializer_list<errc> codes) {
  into.fill(m.make_counter(name, help, {{"reason", "other"}}));
  for (errc code : codes)
    into[static_cast<size_t>(code)]
      = m.make_counter(name, help, {{"reason", std::string{name_of(code)}}});
}

template <size_t Count>
void count(const std::array<counter, Count>& in, errc code) {
  auto index = static_cast<size_t>(code);
  in[index < Count ? index : Count - 1].add();
}

void observe_us(const histogram& h, uint64_t us) {
  h.observe(static_cast<double>(us) * seconds_per_us);
}

/// A stage that did not happen has no time.
void observe_stage(const histogram& h, uint64_t us) {
  if (us > 0)
    observe_us(h, us);
}

histogram stage(metrics& m, const char* name) {
  return m.make_histogram("penstock_request_stage_time_seconds",
                          "Time a request spent in a stage, if it came to it.", stage_bounds,
                          {{"stage", name}});
}

void make_text_side(metrics& m, session_probe& p) {
  constexpr const char* holds[] = {"utf8", "stop_string"};
  for (size_t i = 0; i < p.held_.size(); ++i)
    p.held_[i] = m.make_histogram("penstock_request_held_seconds",
                                  "Time generated text waited before it could be sent.",
                                  stage_bounds, {{"reason", holds[i]}});
  constexpr const char* discards[] = {"stop_string", "late"};
  for (size_t i = 0; i < p.discarded_.size(); ++i)
    p.discarded_[i]
      = m.make_counter("penstock_request_discarded_tokens_total",
                       "Tokens from decode that no client was given.", {{"reason", discards[i]}});
}

session_probe make_session(metrics& m) {
  session_probe p;
  p.accepted_ = m.make_counter("penstock_request_accepted_total", "Requests that got a session.");
  p.open_ = m.make_gauge("penstock_request_open_requests", "Sessions that have not ended.");
  for (size_t i = 0; i < p.ended_.size(); ++i)
    p.ended_[i]
      = m.make_counter("penstock_request_ended_total", "Sessions that ended, by finish reason.",
                       {{"reason", std::string{name_of(static_cast<finish_reason>(i))}}});
  fill(p.refused_, m, "penstock_request_refused_total", "Requests refused without a session.",
       {errc::invalid_argument, errc::prompt_empty, errc::prompt_too_long, errc::unknown_model,
        errc::unsupported, errc::overloaded, errc::draining});
  fill(p.failed_, m, "penstock_request_failed_total", "Sessions that ended with an error, by code.",
       {errc::invalid_argument, errc::prompt_empty, errc::prompt_too_long, errc::unknown_model,
        errc::blocked, errc::unsupported, errc::overloaded, errc::out_of_blocks,
        errc::deadline_exceeded, errc::cancelled, errc::unavailable, errc::draining,
        errc::peer_lost, errc::transfer_failed, errc::stale_data, errc::device_failed,
        errc::incompatible, errc::internal});
  p.first_token_ = m.make_histogram("penstock_request_time_to_first_token_seconds",
                                    "Acceptance to first token (TTFT).", ttft_bounds);
  p.inter_token_ = m.make_histogram("penstock_request_inter_token_latency_seconds",
                                    "Time from one token to the next (ITL).", itl_bounds);
  p.duration_ = m.make_histogram("penstock_request_duration_seconds", "Acceptance to ending (E2E).",
                                 request_bounds);
  p.queue_ = m.make_histogram("penstock_request_queue_time_seconds",
                              "Wait for prefill to start, booking included.", stage_bounds);
  p.admission_ = stage(m, "admission");
  p.guardrail_ = stage(m, "guardrail");
  p.prefill_ = stage(m, "prefill");
  p.transfer_ = stage(m, "transfer");
  p.exposed_ = stage(m, "transfer_exposed");
  const char* prompt = "penstock_request_prompt_tokens_total";
  const char* prompt_help = "Prompt tokens by origin; the origins add up to all prompt tokens.";
  p.computed_ = m.make_counter(prompt, prompt_help, {{"origin", "computed"}});
  p.cached_ = m.make_counter(prompt, prompt_help, {{"origin", "cached"}});
  p.completion_ = m.make_counter("penstock_request_completion_tokens_total", "Generated tokens.");
  p.transferred_ = m.make_counter("penstock_request_transferred_tokens_total",
                                  "Prompt tokens whose KV moved between nodes.");
  p.recomputed_ = m.make_counter("penstock_request_recomputed_tokens_total",
                                 "Tokens computed again after a failure.");
  p.attempts_ = m.make_counter("penstock_request_attempts_total",
                               "Placements of requests; one each if nothing fails.");
  make_text_side(m, p);
  return p;
}

admission_probe make_admission(metrics& m) {
  admission_probe p;
  p.admitted_ = m.make_counter("penstock_admission_admitted_total", "Requests let in.");
  fill(p.refused_, m, "penstock_admission_refused_total", "Requests not let in, by reason.",
       {errc::overloaded, errc::deadline_exceeded, errc::prompt_too_long, errc::cancelled,
        errc::draining});
  p.waiting_ = m.make_gauge("penstock_admission_waiting_requests", "Requests in the queue.");
  p.in_flight_ = m.make_gauge("penstock_admission_in_flight_tokens",
                              "Prompt and reserved tokens of all requests inside.");
  return p;
}

guardrail_probe make_guardrail(metrics& m) {
  guardrail_probe p;
  constexpr const char* outcomes[] = {"allow", "redact", "block", "timeout"};
  for (size_t i = 0; i < p.verdicts_.size(); ++i)
    p.verdicts_[i] = m.make_counter("penstock_guardrail_verdicts_total", "Inspections by outcome.",
                                    {{"outcome", outcomes[i]}});
  p.time_
    = m.make_histogram("penstock_guardrail_time_seconds", "Time of one inspection.", short_bounds);
  return p;
}

prefill_probe make_prefill(metrics& m) {
  prefill_probe p;
  p.queued_ = m.make_gauge("penstock_prefill_queued_tokens", "Prompt tokens that wait.");
  p.steps_ = m.make_counter("penstock_prefill_steps_total", "Prefill steps of the device.");
  p.computed_ = m.make_counter("penstock_prefill_computed_tokens_total",
                               "Prompt tokens computed, repeats included.");
  p.chunk_
    = m.make_histogram("penstock_prefill_chunk_tokens", "Tokens per prefill step.", token_bounds);
  p.time_ = m.make_histogram("penstock_prefill_step_time_seconds", "Time of one prefill step.",
                             step_bounds);
  return p;
}

decode_probe make_decode(metrics& m) {
  decode_probe p;
  p.running_ = m.make_gauge("penstock_decode_running_rows", "Rows in the running batch.");
  p.steps_ = m.make_counter("penstock_decode_steps_total", "Decode steps of the device.");
  p.idle_ = m.make_counter("penstock_decode_idle_seconds_total",
                           "Time the device waited between two decode steps with rows to run.");
  p.discarded_ = m.make_counter("penstock_decode_discarded_tokens_total",
                                "Tokens computed past an end; in nobody's usage.");
  p.batch_ = m.make_histogram("penstock_decode_batch_rows", "Rows per decode step.", row_bounds);
  p.time_ = m.make_histogram("penstock_decode_step_time_seconds", "Time of one decode step.",
                             step_bounds);
  return p;
}

pool_probe make_pool(metrics& m, const std::string& role) {
  auto state = [&](const char* name) {
    return m.make_gauge("penstock_kv_pool_blocks",
                        "KV blocks by state; the states add up to the pool's capacity.",
                        {{"role", role}, {"state", name}});
  };
  pool_probe p{state("free"),
               state("leased"),
               state("cached"),
               state("quarantined"),
               {},
               {},
               {},
               {},
               {},
               {},
               {},
               {}};
  auto hit = [&](const char* tier) {
    return m.make_counter("penstock_kv_prefix_hit_tokens_total",
                          "Tokens found in the prefix cache by prompts that started, by tier.",
                          {{"role", role}, {"tier", tier}});
  };
  p.hit_pool_ = hit("pool");
  p.hit_host_ = hit("host");
  p.evicted_ = m.make_counter("penstock_kv_evicted_blocks_total",
                              "Cached blocks that left the pool.", {{"role", role}});
  auto moved = [&](const char* event) {
    return m.make_counter("penstock_kv_host_blocks_total",
                          "Blocks copied to host memory, copied back, and forgotten there.",
                          {{"role", role}, {"event", event}});
  };
  p.host_saved_ = moved("saved");
  p.host_loaded_ = moved("loaded");
  p.host_evicted_ = moved("evicted");
  auto bytes = [&](const char* kind) {
    return m.make_gauge("penstock_kv_host_bytes", "Host memory that holds KV, and its limit.",
                        {{"role", role}, {"kind", kind}});
  };
  p.host_used_ = bytes("used");
  p.host_max_ = bytes("limit");
  return p;
}

node_probe make_node(metrics& m, const node_identity& self) {
  node_probe p;
  p.info_ = m.make_gauge("penstock_node_info", "Always 1; the labels say who this is.",
                         {{"node", self.name},
                          {"role", self.roles},
                          {"version", self.version},
                          {"numerics", self.numerics}});
  p.info_.set(1);
  p.started_
    = m.make_gauge("penstock_node_start_time_seconds", "Unix time of the process's start.");
  p.started_.set(self.start_seconds);
  p.restarts_ = m.make_counter("penstock_node_restarts_total",
                               "How often the supervisor restarted this node.");
  p.restarts_.add(static_cast<double>(self.restarts));
  p.missed_ = m.make_counter("penstock_node_missed_heartbeats_total",
                             "Heartbeats of other nodes that did not come.");
  constexpr const char* reasons[] = {"malformed", "stale", "stranger", "unreachable"};
  for (size_t i = 0; i < p.dropped_.size(); ++i)
    p.dropped_[i] = m.make_counter("penstock_node_dropped_messages_total",
                                   "Messages between nodes not delivered, by reason.",
                                   {{"reason", reasons[i]}});
  p.peers_ = m.make_gauge("penstock_node_alive_peers", "Other nodes this node holds for alive.");
  return p;
}

} // namespace

probes::probes(metrics& registry, const node_identity& self)
  : session(make_session(registry)), admission(make_admission(registry)),
    guardrail(make_guardrail(registry)), prefill(make_prefill(registry)),
    decode(make_decode(registry)), node(make_node(registry, self)), registry_(&registry) {
  // A pool that does not exist has no blocks, not zero of them.
  if (self.roles.find("prefill") != std::string::npos)
    prefill_pool = make_pool(registry, "prefill");
  if (self.roles.find("decode") != std::string::npos)
    decode_pool = make_pool(registry, "decode");
}

transfer_probe probes::transfer(std::string_view name) const {
  transfer_probe p;
  if (registry_ == nullptr)
    return p;
  metrics& m = *registry_;
  std::string transport{name};
  constexpr const char* outcomes[] = {"done", "cancelled", "failed", "stale", "expired"};
  for (size_t i = 0; i < p.ended_.size(); ++i)
    p.ended_[i] = m.make_counter("penstock_kv_transfers_total", "Hand-overs ended, by outcome.",
                                 {{"transport", transport}, {"outcome", outcomes[i]}});
  p.bytes_ = m.make_counter("penstock_kv_transfer_bytes_total", "KV bytes read and verified.",
                            {{"transport", transport}});
  const char* retries = "penstock_kv_transfer_retries_total";
  const char* retries_help = "Units read again, by reason.";
  p.retry_failed_ = m.make_counter(retries, retries_help,
                                   {{"transport", transport}, {"reason", "transfer_failed"}});
  p.retry_stale_
    = m.make_counter(retries, retries_help, {{"transport", transport}, {"reason", "stale_data"}});
  p.size_ = m.make_histogram("penstock_kv_transfer_size_bytes", "Bytes of one hand-over.",
                             size_bounds, {{"transport", transport}});
  p.time_ = m.make_histogram("penstock_kv_transfer_time_seconds",
                             "First read posted to last unit verified.", transfer_bounds,
                             {{"transport", transport}});
  return p;
}

uint64_t restarts_from(const char* text) noexcept {
  uint64_t count = 0;
  if (text == nullptr)
    return 0;
  const char* end = text + std::strlen(text);
  auto [stop, code] = std::from_chars(text, end, count);
  return code == std::errc{} && stop == end ? count : 0;
}

void session_probe::accepted() const {
  accepted_.add();
  open_.add(1);
}

void session_probe::refused(errc why) const {
  count(refused_, why);
}

void session_probe::ended(const generate_outcome& outcome) const {
  open_.add(-1);
  ended_[static_cast<size_t>(outcome.reason)].add();
  if (outcome.code != errc::ok)
    count(failed_, outcome.code);
  const request_timings& t = outcome.timings;
  observe_stage(first_token_, t.ttft_us);
  observe_us(duration_, t.total_us);
  observe_stage(queue_, t.queue_us);
  observe_stage(admission_, t.admission_us);
  observe_stage(guardrail_, t.guardrail_us);
  observe_stage(prefill_, t.prefill_us);
  observe_stage(transfer_, t.transfer_us);
  observe_stage(exposed_, t.transfer_exposed_us);
  const usage& u = outcome.usage;
  computed_.add(u.computed_tokens);
  cached_.add(u.cached_tokens);
  completion_.add(u.completion_tokens);
  transferred_.add(u.transferred_tokens);
  recomputed_.add(u.recomputed_tokens);
  attempts_.add(outcome.placement.attempts);
}

void admission_probe::refused(errc why) const {
  count(refused_, why);
}

void admission_probe::load(uint64_t waiting, uint64_t tokens_in_flight) const {
  waiting_.set(static_cast<double>(waiting));
  in_flight_.set(static_cast<double>(tokens_in_flight));
}

void guardrail_probe::judged(verdict_outcome outcome, uint64_t took_us) const {
  verdicts_[static_cast<size_t>(outcome)].add();
  observe_us(time_, took_us);
}

void prefill_probe::stepped(uint32_t tokens, uint64_t took_us) const {
  steps_.add();
  computed_.add(tokens);
  chunk_.observe(tokens);
  observe_us(time_, took_us);
}

void decode_probe::stepped(uint32_t rows, uint64_t took_us, uint64_t idle_us) const {
  steps_.add();
  batch_.observe(rows);
  observe_us(time_, took_us);
  idle_.add(static_cast<double>(idle_us) * seconds_per_us);
}

void transfer_probe::ended(transfer_result how, uint64_t bytes, uint64_t took_us) const {
  ended_[static_cast<size_t>(how)].add();
  bytes_.add(static_cast<double>(bytes));
  if (how != transfer_result::done)
    return; // Half a hand-over says nothing about size or speed.
  size_.observe(static_cast<double>(bytes));
  observe_us(time_, took_us);
}

void pool_probe::blocks(uint32_t free, uint32_t leased, uint32_t cached,
                        uint32_t quarantined) const {
  free_.set(free);
  leased_.set(leased);
  cached_.set(cached);
  quarantined_.set(quarantined);
}

void pool_probe::cache(const cache_figures& now) const {
  auto raise = [](const counter& to, uint64_t total) {
    to.add(std::max(0.0, static_cast<double>(total) - to.value()));
  };
  raise(hit_pool_, now.hit_tokens_pool);
  raise(hit_host_, now.hit_tokens_host);
  raise(evicted_, now.evicted_blocks);
  raise(host_saved_, now.host_saved_blocks);
  raise(host_loaded_, now.host_loaded_blocks);
  raise(host_evicted_, now.host_evicted_blocks);
  host_used_.set(static_cast<double>(now.host_bytes));
  host_max_.set(static_cast<double>(now.host_bytes_max));
}

} // namespace penstock::ops
