#include "apps/bench/json_parts.hpp"
#include "apps/bench/progress_bar.hpp"
#include "apps/bench/report.hpp"
#include "apps/bench/subcommands.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "apps/interrupt_watch.hpp"
#include "schema/rpc_client.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

using namespace bench;

constexpr std::chrono::milliseconds connect_time_max{2000};

constexpr const char* footer = R"(Examples:
  penstock bench                                     4 at a time, 100 requests, the defaults
  penstock bench --rate 5 --duration 60 --warmup 10  Poisson arrivals, whatever the server does
  penstock bench --concurrency 16 --prompt-tokens 512 --shared-prefix-tokens 256 --json out.json
  penstock bench --trace conversation_trace.jsonl --trace-scale 0.05 --requests 200
  penstock bench --rate 5 --slo-ttft-ms 200 --slo-tpot-ms 20
  penstock bench interference --help                 what long prompts do to running answers
Times count from when a request was due, so a stall is not hidden. The end token is ignored: answers
have exactly the length asked for, and every one is checked. docs/benchmarking.md says how to read
the figures. Exit code 1 if a request failed.)";

struct options {
  load_options load;
  std::string address = "127.0.0.1:7600";
  std::string json;
  std::string html;
};

void describe_load(CLI::App& command, load_options& o) {
  command.add_option("--concurrency", o.concurrency, "Closed loop: that many open (default 4)")
    ->group("Load");
  command.add_option("--rate", o.rate, "Open loop: Poisson arrivals, requests per second")
    ->group("Load");
  command.add_option("--requests", o.requests, "Requests to count (default 100)")->group("Load");
  command.add_option("--duration", o.duration_s, "Send none after that many seconds")
    ->group("Load");
  command.add_option("--warmup", o.warmup, "Requests before them that are not counted")
    ->group("Load");
  command.add_option("--seed", o.seed, "Of arrivals and prompts: same seed, same load")
    ->capture_default_str()
    ->group("Load");
  command.add_option("--budget-ms", o.budget_ms, "Time each answer may take")
    ->capture_default_str()
    ->group("Load");
}

void describe_prompts(CLI::App& command, load_options& o) {
  const char* group = "Prompts";
  command.add_option("--prompt-tokens", o.prompt_tokens, "Random token ids per prompt")
    ->capture_default_str()
    ->group(group);
  command.add_option("--output-tokens", o.output_tokens, "Tokens per answer, exactly")
    ->capture_default_str()
    ->group(group);
  command
    .add_option("--shared-prefix-tokens", o.shared_prefix_tokens,
                "So many tokens all prompts begin with")
    ->capture_default_str()
    ->group(group);
  command.add_option("--vocabulary", o.vocabulary, "Random ids are below this")
    ->capture_default_str()
    ->group(group);
  command.add_option("--prompts", o.prompts, "A file of prompts instead, one per line")
    ->group(group);
  command
    .add_option("--trace", o.trace,
                "Lengths from a trace (Mooncake JSON lines or Azure CSV), and its times unless\n"
                "--rate or --concurrency is given")
    ->group(group);
  command.add_option("--trace-scale", o.trace_scale, "Times the trace's lengths")
    ->capture_default_str()
    ->group(group);
  command.add_option("--trace-speed", o.trace_speed, "2 plays the trace twice as fast")
    ->capture_default_str()
    ->group(group);
}

void describe_goal(CLI::App& command, service_goal& goal) {
  const char* group = "Goodput: requests that keep all of these";
  command.add_option("--slo-ttft-ms", goal.ttft_ms, "First token after at most")->group(group);
  command.add_option("--slo-itl-ms", goal.itl_ms, "Each gap between tokens at most")->group(group);
  command.add_option("--slo-tpot-ms", goal.tpot_ms, "Mean gap at most")->group(group);
}

/// The share done, of the requests or of the time, whichever is further.
double share_done(const load_options& o, const load_progress& p) {
  double by_count = o.requests == 0
                      ? 0.0
                      : static_cast<double>(p.ended) / static_cast<double>(o.requests + o.warmup);
  double by_time = o.duration_s == 0.0 ? 0.0 : static_cast<double>(p.elapsed) / 1e6 / o.duration_s;
  return std::max(by_count, by_time);
}

load_result run_with_bar(load_run& run, const load_options& o) {
  progress_bar bar;
  auto show = [&bar, &o](const load_progress& p) {
    auto seconds = static_cast<double>(p.elapsed) / 1e6;
    char text[100];
    std::snprintf(text, sizeof text, "%llu ended, %llu open, %.0f s, %.0f tokens/s",
                  static_cast<unsigned long long>(p.ended),
                  static_cast<unsigned long long>(p.started - p.ended), seconds,
                  static_cast<double>(p.tokens) / seconds);
    bar.show(share_done(o, p), text);
  };
  return run.run(bar.is_shown() ? show : load_run::progress_handler{});
}

int fail(const error& why, int code) {
  std::cerr << "penstock bench: " << why.detail << '\n';
  return code;
}

int finish(const options& o, const load_report& report, const load_result& result) {
  std::cout << to_text(report) << std::flush;
  if (!o.json.empty())
    if (auto written = write_text_file(o.json, to_json(report)); !written)
      return fail(written.err(), exit_failed);
  if (!o.html.empty())
    if (auto written = write_text_file(o.html, to_html(to_page(report, result.records))); !written)
      return fail(written.err(), exit_failed);
  if (report.interrupted)
    return exit_interrupted;
  return succeeded(report) ? exit_done : exit_failed;
}

int run_bench(const options& given) {
  auto o = given;
  auto load = checked(o.load);
  if (!load)
    return fail(load.err(), exit_usage);
  o.load = *load;
  interrupt_watch watch; // Before the client's thread: it inherits what is blocked.
  auto client = schema::rpc_client::connect(o.address, connect_time_max);
  if (!client)
    return fail({client.err().code, client.err().detail
                                      + "\nStart a cluster with `penstock up`, or name another "
                                        "with --address HOST:PORT."},
                exit_failed);
  auto server = (*client)->info();
  if (!server)
    return fail(server.err(), exit_failed);
  auto stream = stream_of(o.load, server->context_tokens);
  if (!stream)
    return fail(stream.err(), exit_usage);
  load_report report;
  report.run = facts_of_this_run(program_arguments());
  report.address = o.address;
  report.server = std::move(*server);
  report.load = o.load;
  std::vector<load_stream> streams;
  streams.push_back(std::move(*stream));
  load_run run{**client, std::move(streams)};
  watch.start([&run] { run.stop(); });
  auto result = run_with_bar(run, o.load);
  report.measured = figures_of(result, o.load.goal);
  report.interrupted = watch.interrupted();
  return finish(o, report, result);
}

} // namespace

void add_bench_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("bench", "Load a running cluster and measure it");
  auto o = std::make_shared<options>(); // Shared by the parser and the callback.
  command->footer(footer);
  command->add_option("--address", o->address, "Where the gateway takes requests")
    ->capture_default_str();
  command->add_option("--json", o->json, "Write the figures here, for scripts");
  command->add_option("--html", o->html, "Write a page with tables and tokens over time here");
  describe_load(*command, o->load);
  describe_prompts(*command, o->load);
  describe_goal(*command, o->load.goal);
  add_interference_command(*command, exit_code);
  add_model_command(*command, exit_code);
  command->callback([o, command, &exit_code] {
    if (command->get_subcommands().empty()) // Else that one was meant.
      exit_code = run_bench(*o);
  });
}

} // namespace penstock::apps
