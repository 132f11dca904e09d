// A cluster of real processes on free ports of loopback, and how tests ask and watch it.
#pragma once

#include "process.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::e2e {

/// Path of the binary under test.
std::string penstock();
/// Path of ../shared/models/tinystories-656k; empty if it is not there.
std::string tinystories();

struct cluster_options {
  std::string model = "builtin";
  std::string transport = "auto";
  std::string more = {};         ///< TOML appended to the file.
  std::string cluster_keys = {}; ///< Lines of its [cluster] table.
  uint32_t kv_blocks = 256;
  bool colocated = false; ///< One node, c0, computes prompts and answers.
};

class cluster {
public:
  /// Starts it and waits until it is ready; a failure to start is a test failure.
  explicit cluster(const cluster_options& options = {});
  ~cluster();

  /// `penstock ask --json` with these arguments. @param input Goes to stdin.
  nlohmann::json ask(std::vector<std::string> arguments, const std::string& input = {});
  /// The command line of such an ask.
  [[nodiscard]] std::vector<std::string> ask_command(std::vector<std::string> arguments) const;
  /// Where its gateway takes requests.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] const std::vector<std::string>& nodes() const { return nodes_; }
  /// @returns The process of a node now; 0 while there is none.
  [[nodiscard]] pid_t pid_of(const std::string& node) const;
  /// @returns Every sample of a node's metrics, by name with labels.
  [[nodiscard]] std::map<std::string, double> metrics_of(const std::string& node) const;
  /// @returns The reply to GET `path` on a node's metrics port, headers included; empty if none.
  [[nodiscard]] std::string page_of(const std::string& node, const std::string& path) const;
  /// SIGTERM to `up`. @returns Its exit code.
  int stop();
  [[nodiscard]] pid_t up_pid() const { return up_->pid(); }
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

private:
  std::vector<std::string> nodes_;
  std::map<std::string, uint16_t> ports_;
  std::filesystem::path file_;
  std::unique_ptr<process> up_;
};

/// Ids and the bits of logprobs: equal only if the same tokens were computed the same way.
std::string fingerprint(const nlohmann::json& answer);

/// `penstock run --json` on the same prompt: what a cluster must answer.
nlohmann::json oracle(const std::string& model, std::vector<std::string> arguments);

} // namespace penstock::e2e
