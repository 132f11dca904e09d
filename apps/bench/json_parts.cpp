#include "apps/bench/json_parts.hpp"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>

namespace penstock::apps::bench {

using nlohmann::ordered_json;

namespace {

/// Microseconds are what a clock gives: digits beyond are noise.
double rounded(double value) {
  return std::round(value * 1e3) / 1e3;
}

} // namespace

ordered_json json_of(const run_facts& run) {
  return {{"version", run.version}, {"commit", run.commit},
          {"build", run.build},     {"cpu", run.cpu},
          {"cores", run.cores},     {"memory_bytes", run.memory_bytes},
          {"system", run.system},   {"load_average_before", run.load_before},
          {"time", run.time},       {"command", run.command}};
}

ordered_json json_of(const schema::service_info& server) {
  return {{"version", server.version},
          {"model", server.model},
          {"model_digest", server.model_digest},
          {"context_tokens", server.context_tokens},
          {"numerics_id", server.numerics_id}};
}

ordered_json json_of(const percentiles& p) {
  return {{"count", p.count()},        {"mean", rounded(p.mean())},  {"p50", rounded(p.median())},
          {"p90", rounded(p.at(0.9))}, {"p99", rounded(p.at(0.99))}, {"max", rounded(p.max())}};
}

std::string text_of(const ordered_json& object) {
  return object.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

result<void> write_text_file(const std::string& path, const std::string& text) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file)
    return error{errc::io_failed, path + ": cannot be written: " + std::strerror(errno)};
  return {};
}

} // namespace penstock::apps::bench
