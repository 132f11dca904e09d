#include "model/tensor_set.hpp"

#include "model/json_text.hpp"

#include <set>

namespace penstock::model {

namespace {

constexpr size_t file_bytes_max = size_t{1} << 42U;
constexpr size_t index_bytes_max = size_t{64} << 20U;
constexpr size_t shards_max = 4096;

// A shard is a file beside its index: a name with a slash could be any file of the machine.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 255 && name != "." && name != ".."
         && name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

} // namespace

result<tensor_set> tensor_set::open(const std::filesystem::path& directory) {
  tensor_set out;
  std::error_code ignored;
  const auto single = directory / "model.safetensors";
  const auto index = directory / "model.safetensors.index.json";
  result<void> mapped;
  if (std::filesystem::exists(single, ignored))
    mapped = out.map_file(single);
  else if (std::filesystem::exists(index, ignored))
    mapped = out.map_shards(index);
  else
    return error{errc::io_failed, directory.string()
                                    + ": has neither model.safetensors nor "
                                      "model.safetensors.index.json"};
  if (!mapped)
    return mapped.err();
  return out;
}

result<void> tensor_set::map_file(const std::filesystem::path& path) {
  auto file = mapped_file::open(path, file_bytes_max);
  if (!file)
    return file.err();
  auto contents = parse_safetensors(file->bytes(), path.string());
  if (!contents)
    return contents.err();
  files_.push_back(*std::move(file));
  return add(*std::move(contents), path.string());
}

result<void> tensor_set::map_shards(const std::filesystem::path& index_path) {
  const std::string source = index_path.string();
  auto file = mapped_file::open(index_path, index_bytes_max);
  if (!file)
    return file.err();
  auto document = parse_json(file->bytes(), source);
  if (!document)
    return document.err();
  const auto weight_map = document->find("weight_map");
  if (weight_map == document->end() || !weight_map->is_object() || weight_map->empty())
    return json_error(source, "weight_map", "must be an object of tensor name to file name");
  std::set<std::string> shards;
  for (const auto& [name, shard] : weight_map->items()) {
    if (!shard.is_string() || !is_plain_name(shard.get_ref<const std::string&>()))
      return json_error(source, name,
                        "must name a file in the same directory, found " + json_excerpt(shard));
    shards.insert(shard.get<std::string>());
  }
  if (shards.size() > shards_max)
    return json_error(source, "weight_map", "names more than 4096 files");
  for (const std::string& shard : shards)
    if (auto mapped = map_file(index_path.parent_path() / shard); !mapped)
      return mapped;
  for (const auto& [name, shard] : weight_map->items())
    if (!entries_.contains(name))
      return json_error(source, name, "is not in " + json_excerpt(shard));
  return {};
}

result<void> tensor_set::add(safetensors_contents contents, std::string_view source) {
  for (safetensors_entry& entry : contents.tensors) {
    std::string name = entry.name;
    if (!entries_.emplace(name, std::move(entry)).second)
      return error{errc::malformed,
                   std::string{source} + ": tensor `" + name + "` is in another shard too"};
  }
  for (auto& [name, stored] : contents.metadata)
    stored_as_.emplace(name, stored);
  return {};
}

const safetensors_entry* tensor_set::find(std::string_view name) const {
  if (const auto at = entries_.find(name); at != entries_.end())
    return &at->second;
  if (const auto alias = stored_as_.find(name); alias != stored_as_.end())
    if (const auto at = entries_.find(alias->second); at != entries_.end())
      return &at->second;
  return nullptr;
}

} // namespace penstock::model
