#include "cluster/plan.hpp"

#include <algorithm>

namespace penstock::cluster {
namespace {

using row = std::vector<std::string>;

/// Columns padded to their widest cell, two blanks between them; numbers are right-aligned by
/// column.
std::string table_text(const std::vector<row>& rows, const std::vector<bool>& right) {
  std::vector<size_t> width(right.size());
  for (const row& r : rows)
    for (size_t c = 0; c < r.size(); ++c)
      width[c] = std::max(width[c], r[c].size());
  std::string out;
  for (const row& r : rows) {
    std::string line;
    for (size_t c = 0; c < r.size(); ++c) {
      std::string pad(width[c] - r[c].size(), ' ');
      line.append(2, ' ');
      line += right[c] ? pad + r[c] : r[c] + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

/// 1536 MiB as "1536.0 MiB", 4097 bytes as "4.0 KiB".
std::string short_size(uint64_t bytes) {
  if (bytes == 0)
    return "-";
  constexpr uint64_t kib = 1024;
  bool small = bytes < kib * kib;
  uint64_t unit = small ? kib : kib * kib;
  uint64_t tenths = bytes / unit * 10 + bytes % unit * 10 / unit;
  return std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10)
         + (small ? " KiB" : " MiB");
}

/// {0, 1, 2, 5} as "0-2,5".
std::string core_ranges(const std::vector<uint32_t>& cores) {
  std::string out;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1)
      ++last;
    if (!out.empty())
      out += ',';
    out += std::to_string(cores[i]);
    if (last > i)
      out.append(1, '-').append(std::to_string(cores[last]));
    i = last + 1;
  }
  return out.empty() ? "-" : out;
}

std::string nodes_text(const plan& p) {
  std::vector<row> rows{
    {"node", "roles", "compute", "service", "weights", "KV", "blocks", "cache", "total", "where"}};
  for (const node_plan& n : p.nodes)
    rows.push_back({n.name, n.roles.text(), core_ranges(n.compute_cores),
                    n.here ? std::to_string(n.service_core) : "-", short_size(n.weight_bytes),
                    short_size(n.kv_bytes), n.kv_blocks > 0 ? std::to_string(n.kv_blocks) : "-",
                    short_size(n.host_cache_bytes), short_size(n.total_bytes),
                    n.here ? "here" : "elsewhere"});
  return table_text(rows, {false, false, false, false, true, true, true, true, true, false});
}

std::string links_text(const plan& p) {
  std::vector<row> rows{{"from", "", "to", "what", "transport", ""}};
  for (const link_plan& l : p.links) {
    bool control = l.kind == link_kind::control;
    rows.push_back({p.nodes[l.from].name, control ? "<->" : "-->", p.nodes[l.to].name,
                    control ? "control" : "KV", l.transport, l.clear ? "in clear" : ""});
  }
  return table_text(rows, {false, false, false, false, false, false});
}

std::string list_text(std::string_view title, const std::vector<mistake>& list) {
  return list.empty() ? std::string{} : std::string{title} + '\n' + to_text(list);
}

} // namespace

std::string to_text(const plan& p) {
  std::string out = "model    " + in_quotes(p.model.name) + ", context "
                    + std::to_string(p.model.context) + " tokens, KV "
                    + short_size(p.model.block_bytes(1)) + " per token";
  if (!p.model.digest.empty())
    out += ", digest " + p.model.digest.substr(0, 16);
  out += "\nmachine  " + in_quotes(p.machine.host_name) + ", cores " + core_ranges(p.machine.cores)
         + ", memory " + short_size(p.machine.memory_bytes) + ", of which the nodes here take "
         + short_size(p.memory_bytes_here) + "\ncached   prompts are shared "
         + (p.tenants_apart ? "within a tenant only" : "by all without a salt of their own")
         + "\n\n";
  out += nodes_text(p) + '\n' + links_text(p);
  if (!p.mistakes.empty() || !p.warnings.empty())
    out += '\n';
  out += list_text("refused:", p.mistakes) + list_text("warnings:", p.warnings);
  return out;
}

} // namespace penstock::cluster
