#include "apps/answer.hpp"
#include "apps/builtin_model.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "apps/local_run.hpp"
#include "apps/prompt_options.hpp"
#include "model/load.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

constexpr const char* footer = R"(Examples:
  penstock run -- "Once upon a time"
  penstock run --model ~/llama --threads 4 -- "Once upon a time"
  penstock run --json --prompt-ids 1,80,147 --max-tokens 8
No cluster is used or needed. With the same model, prompt and sampling options a cluster gives the
same ids and logprobs, bit for bit.)";

struct options {
  prompt_options what;
  local_options how;
  std::string model = "builtin";
};

int run(const options& o) {
  auto request = o.what.request(std::cin);
  auto directory = model_directory(o.model);
  for (const error* wrong :
       {request ? nullptr : &request.err(), directory ? nullptr : &directory.err()}) {
    if (wrong != nullptr) {
      std::cerr << "penstock run: " << wrong->text() << '\n';
      return exit_usage;
    }
  }
  auto model = model::load_model(*directory);
  if (!model)
    return conclude("run", refused_answer(model.err()), o.what.json);
  std::function<void(std::string_view)> show;
  if (!o.what.json)
    show = [](std::string_view text) { std::cout << text << std::flush; };
  auto a = run_local(**model, *request, o.how, show);
  if (!o.what.json) {
    if (!a.tokens.empty())
      std::cout << std::endl;
    if (succeeded(a.outcome))
      std::cerr << stage_table(a);
  }
  return conclude("run", a, o.what.json);
}

} // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("run", "Answer a prompt in this process, without a cluster");
  auto o = std::make_shared<options>(); // Shared by the parser and the callback.
  command->footer(footer);
  o->what.describe(*command);
  command->add_option("--model", o->model, "\"builtin\" or a Hugging Face directory")
    ->capture_default_str();
  command->add_option("--threads", o->how.threads, "Threads that compute")
    ->capture_default_str()
    ->check(CLI::Range(1, 256));
  command->add_option("--chunk", o->how.chunk, "Prompt tokens per prefill step")
    ->capture_default_str()
    ->check(CLI::Range(1, 65536));
  command->add_option("--block-tokens", o->how.block_tokens, "Tokens per KV block")
    ->capture_default_str()
    ->check(CLI::IsMember({16, 32, 64}));
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

} // namespace penstock::apps
