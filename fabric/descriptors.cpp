#include "fabric/descriptors.hpp"

#include "fabric/wire_bytes.hpp"

namespace penstock::fabric {

namespace {

constexpr size_t name_bytes_max = 100; // sockaddr_un holds 107 after the leading zero.
constexpr size_t provider_bytes_max = 64;
constexpr size_t address_bytes_max = 256;

byte_writer begin(descriptor_kind kind) {
  byte_writer out;
  out.number(descriptor_version, 1);
  out.number(static_cast<uint8_t>(kind), 1);
  return out;
}

/// Checks what all kinds share; leaves `in` at the kind's own fields.
result<void> check_head(byte_reader& in, size_t size, descriptor_kind want) {
  auto version = in.number(1);
  auto kind = in.number(1);
  if (!in.ok() || size > descriptor_bytes_max)
    return error{errc::malformed, "a descriptor of " + std::to_string(size) + " bytes"};
  if (version != descriptor_version)
    return error{errc::incompatible, "descriptor version " + std::to_string(version)
                                       + "; this build reads "
                                       + std::to_string(descriptor_version)};
  if (kind != static_cast<uint8_t>(want))
    return error{errc::invalid_argument, "a descriptor of transport kind " + std::to_string(kind)
                                           + ", wanted "
                                           + std::to_string(static_cast<unsigned>(want))};
  return {};
}

error bad_form(std::string_view what) {
  return {errc::malformed, std::string{what} + " descriptor is cut short, too long or empty"};
}

} // namespace

descriptor encode(const mapped_descriptor& from) {
  PS_CHECK(!from.name.empty() && from.name.size() <= name_bytes_max);
  auto out = begin(descriptor_kind::mapped);
  out.number(from.key.high, 8);
  out.number(from.key.low, 8);
  out.string(from.name);
  out.number(from.size_bytes, 8);
  return std::move(out).take();
}

descriptor encode(const libfabric_descriptor& from) {
  PS_CHECK(from.provider.size() <= provider_bytes_max);
  PS_CHECK(!from.address.empty() && from.address.size() <= address_bytes_max);
  auto out = begin(descriptor_kind::libfabric);
  out.string(from.provider);
  out.string(from.address);
  out.number(from.key, 8);
  out.number(from.base, 8);
  out.number(from.size_bytes, 8);
  return std::move(out).take();
}

descriptor encode(const local_descriptor& from) {
  auto out = begin(descriptor_kind::local);
  out.number(from.source, 8);
  out.number(from.size_bytes, 8);
  return std::move(out).take();
}

result<mapped_descriptor> parse_mapped(std::span<const std::byte> from) {
  byte_reader in{from};
  if (auto head = check_head(in, from.size(), descriptor_kind::mapped); !head)
    return head.err();
  mapped_descriptor out;
  out.key.high = in.number(8);
  out.key.low = in.number(8);
  out.name = in.text();
  out.size_bytes = in.number(8);
  if (!in.done() || out.name.empty() || out.name.size() > name_bytes_max || out.size_bytes == 0)
    return bad_form("mapped");
  return out;
}

result<libfabric_descriptor> parse_libfabric(std::span<const std::byte> from) {
  byte_reader in{from};
  if (auto head = check_head(in, from.size(), descriptor_kind::libfabric); !head)
    return head.err();
  libfabric_descriptor out;
  out.provider = in.text();
  auto address = in.bytes();
  out.address.assign(address.begin(), address.end());
  out.key = in.number(8);
  out.base = in.number(8);
  out.size_bytes = in.number(8);
  bool sized = !out.provider.empty() && out.provider.size() <= provider_bytes_max
               && !out.address.empty() && out.address.size() <= address_bytes_max
               && out.size_bytes > 0 && out.base <= UINT64_MAX - out.size_bytes;
  if (!in.done() || !sized)
    return bad_form("libfabric");
  return out;
}

result<local_descriptor> parse_local(std::span<const std::byte> from) {
  byte_reader in{from};
  if (auto head = check_head(in, from.size(), descriptor_kind::local); !head)
    return head.err();
  local_descriptor out;
  out.source = in.number(8);
  out.size_bytes = in.number(8);
  if (!in.done() || out.size_bytes == 0)
    return bad_form("local");
  return out;
}

} // namespace penstock::fabric
