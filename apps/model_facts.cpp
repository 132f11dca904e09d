#include "apps/model_facts.hpp"

#include "model/config.hpp"
#include "model/mapped_file.hpp"

#include <filesystem>

namespace penstock::apps {

namespace fs = std::filesystem;

namespace {

uint64_t weight_bytes_in(const fs::path& directory) {
  uint64_t total = 0;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    if (entry.path().extension() != ".safetensors")
      continue;
    auto bytes = entry.file_size(failed);
    total += failed ? 0 : bytes;
  }
  return total;
}

} // namespace

result<cluster::model_facts> model_facts_of(const std::string& directory) {
  fs::path path = fs::path{directory} / "config.json";
  auto file = model::mapped_file::open(path.string(), model::config_bytes_max);
  if (!file)
    return file.err();
  auto config = model::parse_config(file->bytes(), path.string());
  if (!config)
    return config.err();
  cluster::model_facts facts;
  facts.name = fs::path{directory}.filename().string();
  facts.context = config->context;
  facts.layers = config->layers;
  facts.kv_heads = config->kv_heads;
  facts.head_dim = config->head_dim;
  facts.weight_bytes_prefill = weight_bytes_in(directory);
  facts.weight_bytes_decode = facts.weight_bytes_prefill;
  return facts;
}

} // namespace penstock::apps
