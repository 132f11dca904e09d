#include "model/load.hpp"

#include "model/mapped_file.hpp"

namespace penstock::model {

namespace {

namespace fs = std::filesystem;

constexpr const char* what_works = "give a Hugging Face directory with config.json, "
                                   "model.safetensors (or its shards) and tokenizer.json";

result<void> check_directory(const fs::path& directory) {
  std::error_code ignored;
  if (directory.extension() == ".gguf")
    return error{errc::unsupported,
                 directory.string() + ": GGUF files are not read yet; until then " + what_works};
  if (!fs::exists(directory, ignored))
    return error{errc::io_failed, directory.string() + ": does not exist; " + what_works};
  if (!fs::is_directory(directory, ignored))
    return error{errc::io_failed, directory.string() + ": is not a directory; " + what_works};
  for (const char* file : {"config.json", "tokenizer.json"})
    if (!fs::exists(directory / file, ignored))
      return error{errc::io_failed, directory.string() + ": has no " + file + "; " + what_works};
  return {};
}

result<model_config> read_config(const fs::path& directory) {
  const auto path = directory / "config.json";
  auto file = mapped_file::open(path, config_bytes_max);
  if (!file)
    return file.err();
  auto config = parse_config(file->bytes(), path.string());
  std::error_code ignored;
  const auto generation_path = directory / "generation_config.json";
  if (!config || !fs::exists(generation_path, ignored))
    return config;
  auto generation = mapped_file::open(generation_path, config_bytes_max);
  if (!generation)
    return generation.err();
  if (auto applied
      = parse_generation_config(generation->bytes(), generation_path.string(), *config);
      !applied)
    return applied.err();
  return config;
}

std::string name_of(const fs::path& directory) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(directory, ignored).lexically_normal();
  return whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
}

} // namespace

result<std::unique_ptr<loaded_model>> load_model(const fs::path& directory) {
  if (auto checked = check_directory(directory); !checked)
    return checked.err();
  auto config = read_config(directory);
  if (!config)
    return config.err();
  auto tensors = tensor_set::open(directory);
  if (!tensors)
    return tensors.err();
  auto bound = bind_weights(*config, *tensors);
  if (!bound)
    return error{bound.err().code, directory.string() + ": " + bound.err().detail};
  auto tokens = tokenizer::open(directory / "tokenizer.json");
  if (!tokens)
    return tokens.err();
  if (tokens->id_limit() > config->vocab)
    return error{errc::malformed, (directory / "tokenizer.json").string() + ": has ids up to "
                                    + std::to_string(tokens->id_limit() - 1)
                                    + ", config.json allows ids below vocab_size "
                                    + std::to_string(config->vocab)};
  const digest128 digest = digest_of(*config, *bound);
  return std::make_unique<loaded_model>(loaded_model{name_of(directory), *std::move(config),
                                                     *std::move(tensors), *std::move(bound),
                                                     *std::move(tokens), digest});
}

} // namespace penstock::model
