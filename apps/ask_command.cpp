#include "apps/answer.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "apps/interrupt_watch.hpp"
#include "apps/prompt_options.hpp"
#include "base/clock.hpp"
#include "schema/rpc_client.hpp"

#include <CLI/CLI.hpp>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

constexpr std::chrono::milliseconds connect_time_max{2000};

constexpr const char* footer = R"(Examples:
  penstock ask -- "Once upon a time"
  penstock ask --temperature 0.8 --seed 7 --max-tokens 64 -- "Once upon a time"
  cat letter.txt | penstock ask --json -
The text comes on stdout as it is generated, a table of the stages on stderr at the end; --json
prints one object instead. Ctrl-C cancels the request.)";

struct options {
  prompt_options what;
  std::string address = "127.0.0.1:7600";
  std::string model;
  uint64_t budget_ms = 60'000;
  std::string priority{name_of(priority_class::normal)};
  std::string tenant;
  std::string cache_salt;
};

priority_class priority_of(const std::string& name) {
  for (auto p : {priority_class::interactive, priority_class::batch})
    if (name == name_of(p))
      return p;
  return priority_class::normal; // The parser takes no other name.
}

answer failed_answer(const error& why) {
  auto out = refused_answer(why);
  out.outcome.reason = finish_reason::failed;
  return out;
}

/// Sends the request, shows text as it comes.
answer converse(const options& o, generate_request request, schema::rpc_client& client) {
  answer out;
  request.model = o.model;
  request.priority = priority_of(o.priority);
  request.tenant = o.tenant;
  request.cache_salt = o.cache_salt;
  request.budget_us = o.budget_ms > UINT64_MAX / 1000 ? UINT64_MAX : o.budget_ms * 1000;
  steady_clock time;
  auto sent_at = time.now();
  auto outcome
    = client.generate(request, [&](std::span<const generated_token> tokens, std::string_view text) {
        out.tokens.insert(out.tokens.end(), tokens.begin(), tokens.end());
        out.arrivals_us.insert(out.arrivals_us.end(), tokens.size(), time.now() - sent_at);
        out.text += text;
        if (!o.what.json)
          std::cout << text << std::flush;
        return true;
      });
  out.outcome = outcome ? std::move(*outcome) : failed_answer(outcome.err()).outcome;
  return out;
}

/// Connects and asks. @param interrupted Set if Ctrl-C ended it.
answer ask_gateway(const options& o, generate_request request, bool& interrupted) {
  std::unique_ptr<schema::rpc_client> client; // Outlives the watch, which may call it.
  std::atomic<schema::rpc_client*> connected{nullptr};
  interrupt_watch watch;
  watch.start([&connected] {
    auto* to = connected.load();
    if (to == nullptr)
      _exit(exit_interrupted); // Nothing was asked yet.
    to->cancel();
  });
  auto made = schema::rpc_client::connect(o.address, connect_time_max);
  if (!made)
    return failed_answer(made.err());
  client = std::move(*made);
  connected = client.get();
  auto out = converse(o, std::move(request), *client);
  interrupted = watch.interrupted();
  return out;
}

int ask(const options& o) {
  auto request = o.what.request(std::cin);
  if (!request) {
    std::cerr << "penstock ask: " << request.err().text() << '\n';
    return exit_usage;
  }
  bool interrupted = false;
  auto a = ask_gateway(o, std::move(*request), interrupted);
  if (!o.what.json) {
    if (!a.tokens.empty())
      std::cout << std::endl;
    if (succeeded(a.outcome))
      std::cerr << stage_table(a);
  }
  int code = conclude("ask", a, o.what.json);
  return interrupted ? exit_interrupted : code;
}

} // namespace

void add_ask_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("ask", "Send a prompt to a cluster and show the answer");
  auto o = std::make_shared<options>(); // Shared by the parser and the callback.
  command->footer(footer);
  o->what.describe(*command);
  command->option_defaults()->group("Cluster");
  command->add_option("--address", o->address, "Where the gateway takes requests")
    ->capture_default_str();
  command->add_option("--model", o->model, "Refuse if the cluster serves another one");
  command->add_option("--budget-ms", o->budget_ms, "Time the whole answer may take")
    ->capture_default_str();
  command->add_option("--priority", o->priority, "How urgent it is")
    ->capture_default_str()
    ->check(CLI::IsMember({"interactive", "normal", "batch"}));
  command->add_option("--tenant", o->tenant, "Whose request it is: A-Z a-z 0-9 . _ -");
  command->add_option("--cache-salt", o->cache_salt,
                      "Share cached prompts only with requests that have the same");
  command->callback([o, &exit_code] { exit_code = ask(*o); });
}

} // namespace penstock::apps
