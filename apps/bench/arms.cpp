#include "apps/bench/arms.hpp"

#include "base/check.hpp"

#include <sstream>

namespace penstock::apps::bench {

namespace {

std::string listen_at(uint16_t port) {
  return "\"127.0.0.1:" + std::to_string(port) + "\"\n";
}

/// A TOML string: a path may hold quotes.
std::string in_toml(const std::string& text) {
  std::string out{'"'};
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out += '"';
}

/// @param roles As in the file, with quotes.
void write_node(std::ostream& out, const char* name, const char* roles, uint16_t port) {
  out << "\n[[node]]\nname = \"" << name << "\"\nroles = [" << roles
      << "]\nlisten = " << listen_at(port);
}

} // namespace

std::string name_of(arm a) {
  switch (a) {
  case arm::alone:
    return "alone";
  case arm::null:
    return "null";
  case arm::split:
    return "split";
  case arm::colocated:
    return "colocated";
  }
  PS_UNREACHABLE();
}

arm_cluster cluster_of(arm a, const arm_layout& l) {
  PS_CHECK(l.ports.size() >= arm_ports);
  arm_cluster out;
  out.address = "127.0.0.1:" + std::to_string(l.ports[0]);
  auto service = "service_core = " + std::to_string(l.service_core) + "\n";
  auto pool = "kv_memory = " + std::to_string(l.kv_bytes) + "\n";
  auto rows = "rows_max = " + std::to_string(l.rows_max) + "\n";
  std::ostringstream text;
  text << "[cluster]\nname = \"interference\"\nmodel = " << in_toml(l.model) << "\n";
  write_node(text, "g0", R"("gateway")", l.ports[1]);
  text << "rpc = " << listen_at(l.ports[0]) << service;
  if (a == arm::colocated) {
    write_node(text, "b0", R"("prefill", "decode")", l.ports[2]);
    text << "compute_cores = [" << l.decode_core << ", " << l.service_core << "]\n"
         << service << pool << rows << "step_tokens_max = " << l.chunk_tokens << "\n";
    out.nodes = {"g0", "b0"};
  } else {
    write_node(text, "p0", R"("prefill")", l.ports[2]);
    text << "compute_cores = [" << l.service_core << "]\n"
         << service << pool << "step_tokens_max = " << l.chunk_tokens << "\n";
    write_node(text, "d0", R"("decode")", l.ports[3]);
    text << "compute_cores = [" << l.decode_core << "]\n" << service << pool << rows;
    out.nodes = {"g0", "p0", "d0"};
  }
  text << "\n[admission]\ntokens_in_flight_max = 1000000\n\n[log]\nlevel = \"error\"\n";
  out.text = text.str();
  return out;
}

} // namespace penstock::apps::bench
