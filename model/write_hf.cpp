#include "model/write_hf.hpp"

#include "model/json_text.hpp"

#include <cstring>
#include <fstream>

namespace penstock::model {

namespace {

namespace fs = std::filesystem;
using named = std::vector<std::pair<std::string, tensor_view>>;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

std::string shard_name(size_t index, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return name;
}

} // namespace

std::vector<std::byte>
safetensors_bytes(const named& tensors,
                  const std::vector<std::pair<std::string, std::string>>& metadata) {
  json header = json::object();
  size_t offset = 0;
  for (const auto& [name, view] : tensors) {
    json dims = json::array();
    for (size_t i = 0; i < view.dims.rank(); ++i)
      dims.push_back(view.dims[i]);
    const size_t end = offset + view.bytes().size();
    header[name] = {
      {"dtype", name_of(view.type)}, {"shape", std::move(dims)}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  for (const auto& [key, value] : metadata)
    header["__metadata__"][key] = value;
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' '); // Keeps the data aligned.
  const uint64_t length = text.size();
  std::vector<std::byte> out(sizeof length + text.size());
  std::memcpy(out.data(), &length, sizeof length);
  std::memcpy(out.data() + sizeof length, text.data(), text.size());
  for (const auto& [name, view] : tensors)
    out.insert(out.end(), view.bytes().begin(), view.bytes().end());
  return out;
}

named named_tensors(const tiny_model& model) {
  weights copy = model.weights;
  named out;
  for (const weight_slot& slot : weight_slots(model.config, copy))
    out.emplace_back(slot.name, *slot.view);
  return out;
}

result<void> write_file(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file{path, std::ios::binary | std::ios::trunc};
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file)
    return error{errc::io_failed, path.string() + ": cannot be written"};
  return {};
}

result<void> write_hf(const tiny_model& model, const fs::path& directory, size_t shards) {
  PS_CHECK(shards > 0);
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed)
    return error{errc::io_failed, directory.string() + ": " + failed.message()};
  if (auto done = write_file(directory / "config.json", bytes_of(config_json_text(model.config)));
      !done)
    return done;
  const named tensors = named_tensors(model);
  if (shards == 1)
    return write_file(directory / "model.safetensors",
                      safetensors_bytes(tensors, {{"format", "pt"}}));
  json index = {{"metadata", json::object()}, {"weight_map", json::object()}};
  for (size_t i = 0; i < shards; ++i) {
    named part;
    for (size_t t = i; t < tensors.size(); t += shards) {
      part.push_back(tensors[t]);
      index["weight_map"][tensors[t].first] = shard_name(i, shards);
    }
    if (auto done = write_file(directory / shard_name(i, shards), safetensors_bytes(part)); !done)
      return done;
  }
  return write_file(directory / "model.safetensors.index.json", bytes_of(index.dump(1)));
}

} // namespace penstock::model
