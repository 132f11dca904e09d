#include "model/safetensors.hpp"

#include "model/json_text.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::model {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t length_bytes = 8;
constexpr size_t rank_stored_max = 16;

struct stored_dtype {
  std::string_view name;
  uint32_t bits;
};
constexpr stored_dtype stored_dtypes[] = {
  {"F64", 64},    {"F32", 32}, {"F16", 16}, {"BF16", 16},   {"I64", 64},
  {"I32", 32},    {"I16", 16}, {"I8", 8},   {"U64", 64},    {"U32", 32},
  {"U16", 16},    {"U8", 8},   {"BOOL", 8}, {"F8_E4M3", 8}, {"F8_E5M2", 8},
  {"F8_E8M0", 8}, {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
};

std::optional<uint32_t> bits_of(std::string_view name) {
  for (const stored_dtype& known : stored_dtypes)
    if (known.name == name)
      return known.bits;
  return std::nullopt;
}

std::optional<dtype> computed_dtype(std::string_view name) {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16})
    if (name_of(type) == name)
      return type;
  return std::nullopt;
}

struct placed_entry {
  uint64_t begin = 0;
  uint64_t end = 0;
  safetensors_entry entry;
};

error tensor_error(std::string_view source, const std::string& name, const std::string& what) {
  return {errc::malformed, std::string{source} + ": tensor `" + name.substr(0, 200) + "`: " + what};
}

// The dimensions, or nothing if the list is not one of unsigned integers.
std::optional<std::vector<uint64_t>> read_dims(const json& value) {
  if (!value.is_array() || value.size() > rank_stored_max)
    return std::nullopt;
  std::vector<uint64_t> dims;
  for (const json& dim : value) {
    if (!dim.is_number_unsigned())
      return std::nullopt;
    dims.push_back(dim.get<uint64_t>());
  }
  return dims;
}

// Bytes that a tensor of these dimensions takes, or nothing if that overflows or is no whole byte.
// A zero dimension hides no overflow: the others are multiplied all the same.
std::optional<uint64_t> size_bytes(std::span<const uint64_t> dims, uint32_t bits) {
  uint64_t total = bits;
  uint64_t checked = bits;
  for (const uint64_t dim : dims) {
    if (__builtin_mul_overflow(checked, std::max<uint64_t>(dim, 1), &checked))
      return std::nullopt;
    total *= dim;
  }
  if (total % 8 != 0)
    return std::nullopt;
  return total / 8;
}

result<placed_entry> read_entry(const std::string& name, const json& value,
                                std::span<const std::byte> data, std::string_view source) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string()
      || !value.contains("shape") || !value.contains("data_offsets"))
    return tensor_error(source, name, "needs dtype, shape and data_offsets");
  placed_entry out;
  out.entry.name = name;
  out.entry.dtype_name = value["dtype"].get<std::string>();
  const auto bits = bits_of(out.entry.dtype_name);
  if (!bits)
    return tensor_error(source, name, "unknown dtype " + json_excerpt(value["dtype"]));
  const auto dims = read_dims(value["shape"]);
  if (!dims)
    return tensor_error(source, name,
                        "shape must be a list of at most " + std::to_string(rank_stored_max)
                          + " integers, found " + json_excerpt(value["shape"]));
  const json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned()
      || !offsets[1].is_number_unsigned())
    return tensor_error(source, name,
                        "data_offsets must be two integers, found " + json_excerpt(offsets));
  out.begin = offsets[0].get<uint64_t>();
  out.end = offsets[1].get<uint64_t>();
  if (out.begin > out.end || out.end > data.size())
    return tensor_error(source, name,
                        "data_offsets " + json_excerpt(offsets) + " leave the file, which has "
                          + std::to_string(data.size()) + " bytes of data (is it truncated?)");
  const auto size = size_bytes(*dims, *bits);
  if (!size || *size != out.end - out.begin)
    return tensor_error(source, name,
                        "data_offsets hold " + std::to_string(out.end - out.begin)
                          + " bytes, shape " + json_excerpt(value["shape"]) + " of "
                          + out.entry.dtype_name + " needs "
                          + (size ? std::to_string(*size) : "more than can be counted"));
  const auto type = computed_dtype(out.entry.dtype_name);
  if (!type || dims->size() > shape::rank_max)
    return out;
  const std::byte* start = data.data() + out.begin;
  if (reinterpret_cast<uintptr_t>(start) % size_bytes_of(*type) != 0)
    return tensor_error(source, name,
                        "not aligned to its element size; write the file again with a current "
                        "safetensors library");
  out.entry.view = tensor_view{start, *type, shape{*dims}};
  return out;
}

result<void> read_metadata(const json& value, std::string_view source, safetensors_contents& out) {
  if (!value.is_object())
    return json_error(source, "__metadata__", "must be an object of strings");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string())
      return json_error(source, "__metadata__", "must be an object of strings");
    out.metadata.emplace_back(key, text.get<std::string>());
  }
  return {};
}

// The tensors, sorted, must cover the data without overlap, hole or rest.
result<void> check_cover(const std::vector<placed_entry>& sorted, uint64_t data_bytes,
                         std::string_view source) {
  uint64_t covered = 0;
  for (const placed_entry& e : sorted) {
    if (e.begin != covered)
      return tensor_error(source, e.entry.name,
                          "starts at " + std::to_string(e.begin) + ", the one before it ends at "
                            + std::to_string(covered)
                            + (e.begin < covered ? ": they overlap" : ": a hole"));
    covered = e.end;
  }
  if (covered != data_bytes)
    return error{errc::malformed, std::string{source} + ": " + std::to_string(data_bytes - covered)
                                    + " bytes at the end belong to no tensor"};
  return {};
}

} // namespace

result<safetensors_contents> parse_safetensors(std::span<const std::byte> bytes,
                                               std::string_view source) {
  const std::string where{source};
  if (bytes.size() < length_bytes)
    return error{errc::malformed, where + ": " + std::to_string(bytes.size())
                                    + " bytes are too few for a safetensors file"};
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), length_bytes);
  if (header_bytes > safetensors_header_bytes_max || header_bytes > bytes.size() - length_bytes)
    return error{errc::malformed, where + ": header of " + std::to_string(header_bytes)
                                    + " bytes, allowed are the rest of the file ("
                                    + std::to_string(bytes.size() - length_bytes) + ") and at most "
                                    + std::to_string(safetensors_header_bytes_max)};
  const auto data = bytes.subspan(length_bytes + header_bytes);
  auto header = parse_json(bytes.subspan(length_bytes, header_bytes), where + " header");
  if (!header)
    return header.err();
  safetensors_contents out;
  std::vector<placed_entry> placed;
  for (const auto& [name, value] : header->items()) {
    if (name == "__metadata__") {
      if (auto read = read_metadata(value, source, out); !read)
        return read.err();
      continue;
    }
    auto entry = read_entry(name, value, data, source);
    if (!entry)
      return entry.err();
    placed.push_back(*std::move(entry));
  }
  std::sort(placed.begin(), placed.end(), [](const placed_entry& a, const placed_entry& b) {
    return std::tie(a.begin, a.end, a.entry.name) < std::tie(b.begin, b.end, b.entry.name);
  });
  if (auto covered = check_cover(placed, data.size(), source); !covered)
    return covered.err();
  for (placed_entry& e : placed)
    out.tensors.push_back(std::move(e.entry));
  return out;
}

} // namespace penstock::model
