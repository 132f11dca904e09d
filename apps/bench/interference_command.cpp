#include "apps/bench/interference_report.hpp"
#include "apps/bench/json_parts.hpp"
#include "apps/bench/progress_bar.hpp"
#include "apps/bench/random_model.hpp"
#include "apps/bench/subcommands.hpp"
#include "apps/exit_code.hpp"
#include "apps/interrupt_watch.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace penstock::apps::bench {

namespace {

constexpr const char* interference_footer
  = R"(Starts its own clusters on loopback, on two cores: split has one for decode, and prefill with
all else on the other; colocated computes prompts where it decodes, on both. Victims decode
steadily, alone or beside requests with long prompts; null is split with the same answers, but
short prompts. docs/benchmarking.md says what is judged and how.
Examples:
  penstock bench interference --json out.json --html out.html      about a quarter of an hour
  penstock bench interference --rounds 1 --seconds 2 --model builtin
Close everything else first: two cores are compared to a few percent.)";

constexpr const char* model_footer = R"(Examples:
  penstock bench model /tmp/m100 --parameters 100M
  penstock up --model /tmp/m100
The same size and seed give the same bytes on every machine.)";

struct interference_command {
  interference_options what;
  std::string json;
  std::string html;
};

struct model_command {
  std::string directory;
  std::string parameters = "100M";
  uint64_t seed = 1;
};

int fail(const char* command, const error& why, int code) {
  std::cerr << "penstock bench " << command << ": " << why.detail << '\n';
  return code;
}

int finish(const interference_command& c, const interference_report& report) {
  std::cout << to_text(report) << std::flush;
  for (auto [path, text] :
       {std::pair{c.json, c.json.empty() ? std::string{} : to_json(report)},
        std::pair{c.html, c.html.empty() ? std::string{} : to_html(to_page(report))}})
    if (!path.empty())
      if (auto written = write_text_file(path, text); !written)
        return fail("interference", written.err(), exit_failed);
  if (report.result.interrupted)
    return exit_interrupted;
  auto failed = [](const arm_run& r) { return !r.failures.empty(); };
  const auto& runs = report.result.runs;
  return std::any_of(runs.begin(), runs.end(), failed) ? exit_failed : exit_done;
}

int run_interference(const interference_command& c) {
  auto plan = understood(c.what);
  if (!plan)
    return fail("interference", plan.err(), exit_usage);
  interference_report report;
  report.run = facts_of_this_run(program_arguments());
  report.plan = *plan;
  interrupt_watch watch;
  progress_bar bar;
  interference_run run{*plan,
                       [&bar](double share, const std::string& text) { bar.show(share, text); }};
  watch.start([&run] { run.stop(); });
  auto result = run.run();
  bar.clear();
  if (!result)
    return fail("interference", result.err(), watch.interrupted() ? exit_interrupted : exit_failed);
  report.result = std::move(*result);
  return finish(c, report);
}

int make_model(const model_command& c) {
  auto parameters = parse_parameters(c.parameters);
  if (!parameters)
    return fail("model", parameters.err(), exit_usage);
  auto made = write_random_model(c.directory, *parameters, c.seed);
  auto words = made ? shape_words(c.directory) : made.err();
  if (!words)
    return fail("model", words.err(), exit_failed);
  std::cout << c.directory << ": random bf16 weights, " << *words << '\n';
  return exit_done;
}

void describe(CLI::App& command, interference_options& o) {
  command.add_option("--model", o.model, "Not a random one: \"builtin\" or a directory");
  command.add_option("--parameters", o.parameters, "Of the random model")->capture_default_str();
  command.add_option("--rounds", o.rounds, "Each runs every arm at every ratio")
    ->capture_default_str();
  command.add_option("--seconds", o.seconds, "Measured, per run")->capture_default_str();
  command.add_option("--victims", o.victims, "Streams that decode steadily")->capture_default_str();
  command
    .add_option("--ratios", o.ratios, "Tokens of long prompts and of their answers, as in 512:64")
    ->delimiter(',')
    ->capture_default_str();
  command.add_option("--arms", o.arms, "Which of alone, null, split, colocated")
    ->delimiter(',')
    ->capture_default_str();
  command.add_option("--chunks", o.chunks, "Chunk budgets to try for colocated; the best is used")
    ->delimiter(',')
    ->capture_default_str();
  command
    .add_option("--prefill-chunk", o.prefill_chunk, "Prompt tokens per step of split's prefill")
    ->capture_default_str();
  command
    .add_option("--period-ms", o.period_ms,
                "Between long prompts of the first ratio; without it, twice what one takes alone")
    ->capture_default_str();
  command.add_option("--seed", o.seed, "Of the prompts")->capture_default_str();
}

} // namespace

void add_interference_command(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand(
    "interference", "Measure what long prompts do to running answers, split and colocated");
  auto c = std::make_shared<interference_command>(); // Shared by the parser and the callback.
  command->footer(interference_footer);
  describe(*command, c->what);
  command->add_option("--json", c->json, "Write the figures here, for scripts");
  command->add_option("--html", c->html, "Write a page with tables and tokens over time here");
  command->callback([c, &exit_code] { exit_code = run_interference(*c); });
}

void add_model_command(CLI::App& bench, int& exit_code) {
  auto* command = bench.add_subcommand("model", "Write a model of random weights to measure with");
  auto c = std::make_shared<model_command>(); // Shared by the parser and the callback.
  command->footer(model_footer);
  command->add_option("DIRECTORY", c->directory, "Where; made if needed")->required();
  command->add_option("--parameters", c->parameters, "About how many, from 1M to 1B")
    ->capture_default_str();
  command->add_option("--seed", c->seed, "Of the weights")->capture_default_str();
  command->callback([c, &exit_code] { exit_code = make_model(*c); });
}

} // namespace penstock::apps::bench
