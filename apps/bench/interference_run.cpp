#include "apps/bench/interference_run.hpp"

#include "apps/bench/core_pin.hpp"
#include "apps/bench/json_parts.hpp"
#include "apps/bench/local_cluster.hpp"
#include "apps/bench/random_model.hpp"
#include "apps/builtin_model.hpp"
#include "apps/cluster_source.hpp"
#include "apps/model_facts.hpp"
#include "cluster/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>

namespace penstock::apps::bench {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds connect_time_max{10'000};
constexpr uint32_t victim_prompt_tokens = 32;
constexpr uint32_t victim_output_tokens_max = 4096; // What a cluster file allows by default.
constexpr uint32_t null_prompt_tokens = 16;
constexpr uint32_t long_open_max = 12; // Long requests the KV pools have room for.
constexpr uint32_t vocabulary = 256;   // Every model has at least that many ids.
constexpr uint64_t budget_us = 600'000'000;
constexpr double period_over_alone = 2.0; // Prefill is busy half of the time.
constexpr time_us period_us_min = 20'000;

std::string title_of(arm which, const token_ratio& r) {
  if (which == arm::alone)
    return "alone: victims and nothing else";
  return name_of(which)
         + (which == arm::null ? ": short prompts" : ": prompts of " + std::to_string(r.prompt))
         + ", answers of " + std::to_string(r.output);
}

workload prompts_of(uint32_t prompt, uint32_t output, uint64_t seed, uint32_t context) {
  return {synthetic_prompts{prompt, 0, output}, {seed, vocabulary, context, budget_us}};
}

} // namespace

/// A cluster that takes requests, and the way to it. This command moves to its service core.
class interference_run::running_cluster {
public:
  running_cluster(local_cluster nodes, uint32_t service_core)
    : nodes_(std::move(nodes)), pin_(service_core) {}

  result<void> connect(const std::string& address) {
    auto client = schema::rpc_client::connect(address, connect_time_max);
    if (!client)
      return client.err();
    client_ = std::move(*client);
    return {};
  }
  schema::rpc_client& client() { return *client_; }
  /// @returns The name of a node that has ended; empty while all run.
  std::string ended() { return nodes_.ended(); }

private:
  local_cluster nodes_;
  core_pin pin_;
  std::unique_ptr<schema::rpc_client> client_;
};

interference_run::interference_run(interference_plan plan,
                                   std::function<void(double, const std::string&)> say)
  : plan_(std::move(plan)), say_(std::move(say)) {}

interference_run::~interference_run() {
  std::error_code ignored;
  if (!directory_.empty())
    fs::remove_all(directory_, ignored);
}

void interference_run::tell(const std::string& what) {
  say_(static_cast<double>(runs_done_) / static_cast<double>(std::max<size_t>(1, runs_planned_)),
       what);
}

bool interference_run::stopped() {
  std::lock_guard lock{mutex_};
  return stopped_;
}

void interference_run::stop() {
  std::lock_guard lock{mutex_};
  stopped_ = true;
  if (current_ != nullptr)
    current_->stop();
}

result<interference_result> interference_run::run() {
  for (auto which : plan_.arms)
    runs_planned_ += plan_.options.rounds * (which == arm::alone ? 1 : plan_.ratios.size());
  if (plan_.has(arm::colocated) && plan_.options.chunks.size() > 1)
    runs_planned_ += plan_.options.chunks.size();
  window_.from = static_cast<time_us>(plan_.settle_s() * 1e6);
  window_.to = window_.from + static_cast<time_us>(plan_.options.seconds * 1e6);
  for (auto step : {&interference_run::prepare, &interference_run::measure_alone,
                    &interference_run::choose_chunk})
    if (auto done = (this->*step)(); !done)
      return done.err();
  for (uint32_t round = 0; round < plan_.options.rounds && !stopped(); ++round)
    if (auto done = one_round(round); !done)
      return done.err();
  out_.interrupted = stopped();
  return std::move(out_);
}

result<void> interference_run::prepare() {
  auto machine = cluster::this_machine();
  if (machine.cores.size() < 2)
    return error{errc::invalid_argument, "this process may run on one core; two are compared"};
  layout_.decode_core = machine.cores.front();
  layout_.service_core = machine.cores.back();
  auto folder = (fs::temp_directory_path() / "penstock-bench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return error{errc::io_failed, folder + ": cannot be made"};
  directory_ = folder;
  layout_.model = plan_.options.model;
  if (layout_.model.empty()) {
    layout_.model = directory_ + "/random";
    tell("making a model of " + plan_.options.parameters + " random parameters");
    if (auto made = write_random_model(layout_.model, plan_.parameters, 1); !made)
      return made.err();
  } else if (layout_.model != cluster::model_builtin) {
    layout_.model = fs::absolute(layout_.model).string();
  }
  auto model = model_directory(layout_.model);
  auto facts = model ? model_facts_of(*model) : model.err();
  if (!facts)
    return facts.err();
  context_ = facts->context;
  if (plan_.long_tokens_max() > context_)
    return error{errc::invalid_argument, "--ratios: a prompt and its answer have up to "
                                           + std::to_string(plan_.long_tokens_max())
                                           + " tokens, the model's context holds "
                                           + std::to_string(context_)};
  auto tokens = uint64_t{plan_.options.victims} * context_
                + uint64_t{long_open_max} * plan_.long_tokens_max();
  layout_.kv_bytes = facts->block_bytes(1) * std::max<uint64_t>(tokens, uint64_t{2} * context_);
  auto words = shape_words(*model);
  if (!words)
    return words.err();
  out_.model
    = (plan_.options.model.empty() ? "random bf16 weights, " : plan_.options.model + ", ") + *words;
  return {};
}

result<std::unique_ptr<interference_run::running_cluster>> interference_run::start(arm which,
                                                                                   uint32_t chunk) {
  auto ports = free_ports(arm_ports);
  if (!ports)
    return ports.err();
  layout_.ports = std::move(*ports);
  layout_.chunk_tokens = chunk;
  auto cluster = cluster_of(which, layout_);
  auto file = directory_ + "/" + name_of(which) + ".toml";
  if (auto written = write_text_file(file, cluster.text); !written)
    return written.err();
  if (std::none_of(out_.plans.begin(), out_.plans.end(),
                   [&](const arm_plan& p) { return p.arm == name_of(which); })) {
    auto config = read_cluster({file, {}});
    auto plan = config ? plan_cluster(*config) : std::nullopt;
    if (!plan)
      return error{errc::unsupported, "the cluster of the arm \"" + name_of(which)
                                        + "\" cannot be run here; the reasons are above"};
    out_.plans.push_back({name_of(which), cluster::to_text(*plan)});
  }
  auto nodes = local_cluster::start(file, cluster.nodes, [this] { return stopped(); });
  if (!nodes)
    return nodes.err();
  auto out = std::make_unique<running_cluster>(std::move(*nodes), layout_.service_core);
  if (auto reached = out->connect(cluster.address); !reached)
    return reached.err();
  return out;
}

result<load_result> interference_run::loaded(running_cluster& on, std::vector<load_stream> streams,
                                             time_us cut_after) {
  load_run run{on.client(), std::move(streams)};
  {
    std::lock_guard lock{mutex_};
    current_ = &run;
    if (stopped_)
      run.stop();
  }
  std::string lost;
  auto seen = run.run(
    [&](const load_progress&) {
      if (lost.empty() && !(lost = on.ended()).empty())
        run.stop(); // Nobody restarts it: waiting for answers would take their whole budget.
    },
    cut_after);
  std::lock_guard lock{mutex_};
  current_ = nullptr;
  if (!lost.empty())
    return error{errc::peer_lost, "node " + lost + " died while it was measured; see above"};
  return seen;
}

/// The long prompt on an idle cluster, three times: what the period follows from.
result<void> interference_run::measure_alone() {
  out_.period_ms = plan_.options.period_ms;
  if (out_.period_ms > 0.0 || stopped())
    return {};
  tell("timing a long prompt alone");
  auto on = plan_.has_split_cluster() ? start(arm::split, plan_.options.prefill_chunk)
                                      : start(arm::colocated, plan_.options.chunks.front());
  if (!on)
    return on.err();
  std::vector<load_stream> streams;
  streams.push_back({prompts_of(plan_.ratios[0].prompt, 1, plan_.options.seed, context_),
                     closed_loop{1},
                     {.requests_max = 3},
                     0});
  auto seen = loaded(**on, std::move(streams), UINT64_MAX);
  if (!seen)
    return seen.err();
  std::vector<double> times;
  for (const auto& r : seen->records)
    if (failure_of(r).empty())
      times.push_back(static_cast<double>(r.tokens.front() - r.sent) / 1e3);
  if (times.empty() && !stopped())
    return error{errc::unavailable, "a long prompt alone was not answered"};
  out_.alone_ttft_ms = percentiles{std::move(times)}.median();
  out_.period_ms
    = std::max(period_over_alone * out_.alone_ttft_ms, static_cast<double>(period_us_min) / 1e3);
  return {};
}

/// Victims, and unless alone long prompts at the pace of the ratio: prompt tokens per second are
/// the same at each. Null has the same answers at the same times, but no long prompts.
result<load_result> interference_run::load(running_cluster& on, arm which, size_t ratio,
                                           uint64_t seed) {
  auto answer = std::min(context_ - victim_prompt_tokens, victim_output_tokens_max);
  std::vector<load_stream> streams;
  streams.push_back({prompts_of(victim_prompt_tokens, answer, mix64(seed), context_),
                     closed_loop{plan_.options.victims},
                     {.duration_max = window_.to},
                     0});
  if (which != arm::alone) {
    const auto& r = plan_.ratios[ratio];
    auto period = static_cast<time_us>(out_.period_ms * 1e3 * r.prompt / plan_.ratios[0].prompt);
    auto prompt = which == arm::null ? std::min(null_prompt_tokens, r.prompt) : r.prompt;
    streams.push_back({prompts_of(prompt, r.output, seed, context_),
                       even_arrivals{window_.from, std::max(period, period_us_min)},
                       {.duration_max = window_.to},
                       0});
  }
  return loaded(on, std::move(streams), window_.to);
}

result<void> interference_run::one_run(running_cluster& on, arm which, size_t ratio,
                                       uint32_t round) {
  if (stopped())
    return {};
  const auto& r = plan_.ratios[ratio];
  tell("round " + std::to_string(round + 1) + " of " + std::to_string(plan_.options.rounds) + ": "
       + title_of(which, r));
  auto seen = load(on, which, ratio, seed_of(round, ratio, which));
  if (!seen)
    return seen.err();
  if (stopped())
    return {};
  auto out = measured(*seen, window_.from, window_.to);
  out.which = which;
  out.round = round;
  out.ratio = ratio;
  if (out.itl_ms.count() == 0)
    return error{errc::unavailable, "no token of a victim came in " + name_of(which)
                                      + "; give --seconds more, or a smaller model"};
  out_.runs.push_back(std::move(out));
  ++runs_done_;
  if (round == 0 && ratio == plan_.ratios.size() / 2)
    out_.timelines.push_back(timeline_of(
      seen->records, title_of(which, r), [](const auto& v) { return v.stream == victim_stream; },
      [](const auto& v) { return v.stream == long_stream; }));
  return {};
}

result<void> interference_run::choose_chunk() {
  const auto& chunks = plan_.options.chunks;
  out_.chunk = chunks.front();
  if (!plan_.has(arm::colocated) || chunks.size() < 2)
    return {};
  for (auto chunk : chunks) {
    if (stopped())
      return {};
    tell("trying chunks of " + std::to_string(chunk));
    auto on = start(arm::colocated, chunk);
    if (!on)
      return on.err();
    auto seen = load(**on, arm::colocated, middle_ratio(), random_bits(plan_.options.seed, chunk));
    if (!seen)
      return seen.err();
    auto run = measured(*seen, window_.from, window_.to);
    out_.trials.push_back({chunk, run.itl_ms.at(0.99), run.tokens_per_s});
    ++runs_done_;
  }
  out_.chunk = best_chunk(out_.trials);
  return {};
}

result<void> interference_run::on_cluster(arm which, uint32_t round) {
  if (stopped())
    return {};
  auto on = start(which, which == arm::split ? plan_.options.prefill_chunk : out_.chunk);
  if (!on)
    return on.err();
  if (which == arm::split && plan_.has(arm::alone))
    if (auto done = one_run(**on, arm::alone, middle_ratio(), round); !done)
      return done;
  std::vector<arm> arms{which};
  if (which == arm::split)
    arms = {arm::null, arm::split};
  if (round % 2 == 1)
    std::reverse(arms.begin(), arms.end());
  for (size_t place = 0; place < plan_.ratios.size(); ++place)
    for (auto each : arms)
      if (plan_.has(each))
        if (auto done = one_run(**on, each, (place + round) % plan_.ratios.size(), round); !done)
          return done;
  return {};
}

result<void> interference_run::one_round(uint32_t round) {
  std::vector<arm> order;
  if (plan_.has_split_cluster())
    order.push_back(arm::split);
  if (plan_.has(arm::colocated))
    order.push_back(arm::colocated);
  if (round % 2 == 1)
    std::reverse(order.begin(), order.end());
  for (auto which : order)
    if (auto done = on_cluster(which, round); !done)
      return done;
  return {};
}

/// New prompts in every run on a cluster, for no cache may know them; split's and colocated's are
/// the same in a round.
uint64_t interference_run::seed_of(uint32_t round, size_t ratio, arm which) const {
  auto kind = which == arm::colocated ? arm::split : which;
  return random_bits(mix64(plan_.options.seed) ^ round, ratio * 4 + static_cast<uint64_t>(kind));
}

} // namespace penstock::apps::bench
