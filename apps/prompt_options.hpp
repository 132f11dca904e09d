// The options `ask` and `run` share: what is asked, and how the answer is drawn and shown.
#pragma once

#include "base/request.hpp"
#include "base/result.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace penstock::apps {

struct answer;

struct prompt_options {
  std::string prompt;
  std::string prompt_ids;
  sampling_params sampling;
  std::vector<std::string> stop_strings;
  std::string reply_prefix;
  bool raw = false;
  bool json = false;
  CLI::Option* prompt_option = nullptr; ///< Set by describe(); tells "" from nothing.
  CLI::Option* ids_option = nullptr;

  /// Adds the options to a sub-command; they are written here when it is parsed.
  void describe(CLI::App& command);

  /// @param in For the prompt "-".
  /// @returns The request, without model and budget; errc::invalid_argument for a command line that
  ///   gives no prompt, or two; errc::prompt_too_long.
  [[nodiscard]] result<generate_request> request(std::istream& in) const;

private:
  void describe_sampling(CLI::App& command);
  void describe_ends(CLI::App& command);
};

/// Ends a command: prints the answer as JSON if asked to, and why it failed if it did.
/// @returns The exit code.
[[nodiscard]] int conclude(const char* command, const answer& a, bool json);

/// The answer of a request that never began.
[[nodiscard]] answer refused_answer(const error& why);

} // namespace penstock::apps
