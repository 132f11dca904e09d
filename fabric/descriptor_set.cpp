#include "fabric/descriptor_set.hpp"

#include "fabric/wire_bytes.hpp"

namespace penstock::fabric {

namespace {

constexpr uint8_t set_version = 1;
constexpr size_t transport_bytes_max = 64;
constexpr std::string_view mapped = "mapped";

std::string offered(const descriptor_set& set) {
  std::string names;
  for (const auto& entry : set.entries)
    names += (names.empty() ? "\"" : ", \"") + entry.transport + '"';
  return names.empty() ? "nothing" : names;
}

} // namespace

std::vector<std::byte> encode(const descriptor_set& set) {
  PS_CHECK(set.entries.size() <= descriptor_set::entries_max);
  byte_writer out;
  out.number(set_version, 1);
  out.number(set.host.high, 8);
  out.number(set.host.low, 8);
  out.number(set.entries.size(), 1);
  for (const auto& entry : set.entries) {
    PS_CHECK(entry.transport.size() <= transport_bytes_max);
    PS_CHECK(entry.from.size() <= descriptor_bytes_max);
    out.string(entry.transport);
    out.string(entry.from);
  }
  return std::move(out).take();
}

result<descriptor_set> parse_descriptor_set(std::span<const std::byte> from) {
  byte_reader in{from};
  auto version = in.number(1);
  if (in.ok() && version != set_version)
    return error{errc::incompatible, "descriptor set version " + std::to_string(version)
                                       + "; this build reads " + std::to_string(set_version)};
  descriptor_set set;
  set.host.high = in.number(8);
  set.host.low = in.number(8);
  auto count = in.number(1);
  if (count > descriptor_set::entries_max)
    return error{errc::malformed, "a descriptor set of " + std::to_string(count) + " entries"};
  for (uint64_t i = 0; i < count; ++i) {
    descriptor_set::entry entry;
    entry.transport = in.text();
    auto bytes = in.bytes();
    entry.from.assign(bytes.begin(), bytes.end());
    if (!in.ok() || entry.transport.empty() || entry.transport.size() > transport_bytes_max
        || bytes.size() > descriptor_bytes_max)
      return error{errc::malformed, "entry " + std::to_string(i) + " of a descriptor set"};
    set.entries.push_back(std::move(entry));
  }
  if (!in.done())
    return error{errc::malformed, "a descriptor set that is cut short or too long"};
  return set;
}

result<size_t> choose(const descriptor_set& set, const digest128& here, std::string_view wanted) {
  bool any = wanted == "auto";
  bool one_host = set.host == here && here != digest128{};
  size_t best = set.entries.size();
  for (size_t i = 0; i < set.entries.size(); ++i) {
    const auto& name = set.entries[i].transport;
    bool usable = any ? name != mapped || one_host : name == wanted;
    if (usable && (!any || name == mapped))
      return i;
    if (usable && best == set.entries.size())
      best = i;
  }
  if (best < set.entries.size())
    return best;
  return error{errc::unsupported, "transport \"" + std::string{wanted} + "\": the source offers "
                                    + offered(set)
                                    + (one_host ? " on this host" : " on another host")};
}

} // namespace penstock::fabric
