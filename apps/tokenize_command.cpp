#include "apps/answer.hpp"
#include "apps/builtin_model.hpp"
#include "apps/commands.hpp"
#include "apps/exit_code.hpp"
#include "apps/prompt_input.hpp"
#include "model/tokenizer.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <iostream>
#include <memory>

namespace penstock::apps {

namespace {

constexpr const char* footer = R"(Examples:
  printf 'Once upon a time' | penstock tokenize
  printf 'Once upon a time' | penstock tokenize --json --raw --model ~/llama
Reads text on stdin, byte for byte. Without --json: an id and its token per line.)";

struct options {
  std::string model = "builtin";
  bool raw = false;
  bool json = false;
};

int fail(const error& why, int code) {
  std::cerr << "penstock tokenize: " << why.text() << '\n';
  return code;
}

int tokenize(const options& o) {
  auto directory = model_directory(o.model, "tokenizer.json");
  if (!directory)
    return fail(directory.err(), exit_usage);
  auto tokenizer = model::tokenizer::open(std::filesystem::path{*directory} / "tokenizer.json");
  if (!tokenizer)
    return fail(tokenizer.err(), exit_failed);
  auto text = read_all(std::cin);
  if (!text)
    return fail(text.err(), exit_failed);
  auto ids = tokenizer->encode(*text, {.add_special = !o.raw});
  if (!ids)
    return fail(ids.err(), exit_failed);
  if (o.json) {
    std::cout << to_json(*ids) << '\n';
    return exit_done;
  }
  for (auto id : *ids)
    std::cout << id << '\t' << tokenizer->text_of(id) << '\n';
  return exit_done;
}

} // namespace

void add_tokenize_command(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand("tokenize", "Show the token ids of the text on stdin");
  auto o = std::make_shared<options>(); // Shared by the parser and the callback.
  command->footer(footer);
  command->add_option("--model", o->model, "\"builtin\" or a Hugging Face directory")
    ->capture_default_str();
  command->add_flag("--raw", o->raw, "Add no special tokens");
  command->add_flag("--json", o->json, "Print {\"token_ids\": [...]}");
  command->callback([o, &exit_code] { exit_code = tokenize(*o); });
}

} // namespace penstock::apps
