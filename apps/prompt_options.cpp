#include "apps/prompt_options.hpp"

#include "apps/answer.hpp"
#include "apps/exit_code.hpp"
#include "apps/prompt_input.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace penstock::apps {

void prompt_options::describe(CLI::App& command) {
  prompt_option
    = command.add_option("PROMPT", prompt, "The prompt, best after --; - reads it from stdin");
  auto* defaults = command.option_defaults();
  defaults->group("Prompt");
  ids_option = command.add_option("--prompt-ids", prompt_ids,
                                  "Token ids instead of a prompt, as in 1,80,147");
  command.add_flag("--raw", raw, "Add no special tokens to the prompt");
  command.add_option("--reply-prefix", reply_prefix,
                     "How the answer begins: it goes on from there, and is printed without it");
  defaults->group("Sampling");
  describe_sampling(command);
  defaults->group("Where the answer ends");
  describe_ends(command);
  defaults->group("Output");
  auto* as_json = command.add_flag("--json", json, "Print one JSON object instead of the text");
  command
    .add_option("--top-logprobs", sampling.top_logprobs,
                "With --json: likeliest tokens to name beside each, up to 20")
    ->capture_default_str()
    ->needs(as_json);
  defaults->group("Options");
}

void prompt_options::describe_sampling(CLI::App& command) {
  command.add_option("--temperature", sampling.temperature, "0 is greedy, up to 10")
    ->capture_default_str();
  command.add_option("--seed", sampling.seed, "Same seed, same answer")->capture_default_str();
  command.add_option("--top-k", sampling.top_k, "Draw from that many likeliest tokens; 0: all")
    ->capture_default_str();
  command.add_option("--top-p", sampling.top_p, "Draw from the likeliest with that share of all")
    ->capture_default_str();
  command.add_option("--min-p", sampling.min_p, "Draw from those with that share of the likeliest")
    ->capture_default_str();
  command
    .add_option("--repetition-penalty", sampling.repetition_penalty,
                "Above 1: less of what prompt and answer have already, up to 10")
    ->capture_default_str();
}

void prompt_options::describe_ends(CLI::App& command) {
  command.add_option("--max-tokens", sampling.tokens_max, "Tokens to generate at most")
    ->capture_default_str();
  command.add_option("--min-tokens", sampling.tokens_min, "Draw no end before that many tokens")
    ->capture_default_str();
  command.add_option("--stop", stop_strings, "A text the answer ends before; may be repeated")
    ->allow_extra_args(false);
  command
    .add_option("--stop-id", sampling.stop_ids, "A token that ends the answer; may be repeated")
    ->allow_extra_args(false);
  command.add_flag("--ignore-end", sampling.ignore_end,
                   "Go on after the model's end-of-sequence tokens");
}

result<generate_request> prompt_options::request(std::istream& in) const {
  bool by_ids = ids_option->count() > 0;
  if (by_ids == (prompt_option->count() > 0))
    return error{errc::invalid_argument,
                 by_ids ? "give a prompt or --prompt-ids, not both"
                        : "no prompt; give one after --, - to read stdin, or --prompt-ids"};
  generate_request out;
  out.sampling = sampling;
  out.stop_strings = stop_strings;
  out.reply_prefix = reply_prefix;
  out.raw = raw;
  if (by_ids) {
    auto ids = parse_token_ids(prompt_ids);
    if (!ids)
      return ids.err();
    out.prompt_ids = std::move(*ids);
    return out;
  }
  auto text = prompt_from(prompt, in);
  if (!text)
    return text.err();
  out.prompt = std::move(*text);
  return out;
}

int conclude(const char* command, const answer& a, bool json) {
  if (json)
    std::cout << to_json(a) << std::endl;
  if (succeeded(a.outcome))
    return exit_done;
  std::cerr << "penstock " << command << ": " << name_of(a.outcome.reason);
  if (a.outcome.code != errc::ok)
    std::cerr << ": " << name_of(a.outcome.code);
  if (!a.outcome.detail.empty())
    std::cerr << ": " << a.outcome.detail;
  std::cerr << '\n';
  return exit_failed;
}

answer refused_answer(const error& why) {
  answer out;
  out.outcome.reason = finish_reason::refused;
  out.outcome.code = why.code;
  out.outcome.detail = why.detail;
  return out;
}

} // namespace penstock::apps
