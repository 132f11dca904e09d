#include "apps/bench/random_model.hpp"

#include "apps/builtin_model.hpp"
#include "cluster/config.hpp"
#include "model/mapped_file.hpp"
#include "model/tiny.hpp"
#include "model/write_hf.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace penstock::apps::bench {

namespace fs = std::filesystem;

namespace {

constexpr uint32_t context_tokens = 2048;
constexpr uint32_t head_dim = 64;
constexpr uint32_t width_unit = 192; // Three heads, which share keys and values.
constexpr uint32_t width_max = 4032;
constexpr double layers_usual = 15.0; // A shape of about that depth is chosen.

uint64_t layer_parameters(const model::model_config& c) {
  uint64_t attention = uint64_t{2} * c.hidden * c.heads * c.head_dim
                       + uint64_t{2} * c.hidden * c.kv_heads * c.head_dim;
  return attention + uint64_t{3} * c.hidden * c.intermediate + uint64_t{2} * c.hidden;
}

model::model_config shape_of(uint32_t width, uint64_t parameters, uint32_t vocabulary) {
  model::model_config c;
  c.hidden = width;
  c.intermediate = width / 3 * 8;
  c.head_dim = head_dim;
  c.heads = width / head_dim;
  c.kv_heads = c.heads / 3;
  c.vocab = vocabulary;
  auto embedding = uint64_t{2} * vocabulary * width;
  auto rest = parameters > embedding ? parameters - embedding : 0;
  auto each = layer_parameters(c);
  c.layers = static_cast<uint32_t>(std::max<uint64_t>(1, (rest + each / 2) / each));
  return c;
}

result<model::model_config> config_in(const std::string& directory) {
  auto path = (fs::path{directory} / "config.json").string();
  auto file = model::mapped_file::open(path, model::config_bytes_max);
  if (!file)
    return file.err();
  return model::parse_config(file->bytes(), path);
}

} // namespace

result<uint64_t> parse_parameters(std::string_view text) {
  double value = 0.0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit{end, static_cast<size_t>(text.data() + text.size() - end)};
  double factor = unit.empty()  ? 1.0
                  : unit == "K" ? 1e3
                  : unit == "M" ? 1e6
                  : unit == "B" ? 1e9
                                : 0;
  value *= factor;
  if (failed != std::errc{} || factor == 0.0
      || !(value >= static_cast<double>(parameters_min)
           && value <= static_cast<double>(parameters_max)))
    return error{errc::invalid_argument,
                 cluster::in_quotes(text) + " is no count of parameters from 1M to 1B, as in 100M"};
  return static_cast<uint64_t>(value);
}

uint64_t parameters_of(const model::model_config& c) {
  return uint64_t{c.tie_embeddings ? 1U : 2U} * c.vocab * c.hidden + c.layers * layer_parameters(c)
         + c.hidden;
}

model::model_config random_shape(uint64_t parameters, uint32_t vocabulary, uint32_t context) {
  model::model_config best;
  double least = HUGE_VAL;
  for (uint32_t width = width_unit; width <= width_max; width += width_unit) {
    auto c = shape_of(width, parameters, vocabulary);
    auto wrong
      = std::abs(std::log(static_cast<double>(parameters_of(c)) / static_cast<double>(parameters)));
    auto odd = std::abs(std::log(c.layers / layers_usual));
    if (auto cost = odd + (wrong > 0.15 ? 10.0 + wrong : 0.0); cost < least) {
      least = cost;
      best = c;
    }
  }
  best.context = context;
  best.rms_eps = 1e-5F;
  best.bos = 1;
  best.eos = {2};
  return best;
}

result<std::string> shape_words(const std::string& directory) {
  auto config = config_in(directory);
  if (!config)
    return config.err();
  char text[200];
  std::snprintf(text, sizeof text,
                "%.1f M parameters: hidden %u, %u layers, MLP %u, %u heads over %u KV heads of %u, "
                "vocabulary %u, context %u",
                static_cast<double>(parameters_of(*config)) / 1e6, config->hidden, config->layers,
                config->intermediate, config->heads, config->kv_heads, config->head_dim,
                config->vocab, config->context);
  return std::string{text};
}

result<model::model_config> write_random_model(const std::string& directory, uint64_t parameters,
                                               uint64_t seed) {
  auto builtin = model_directory(cluster::model_builtin);
  auto theirs = builtin ? config_in(*builtin) : builtin.err();
  if (!theirs)
    return theirs.err();
  auto shape = random_shape(parameters, theirs->vocab, context_tokens);
  auto made = model::make_tiny(shape, model::dtype::bf16, seed);
  if (auto written = model::write_hf(made, directory); !written)
    return written.err();
  std::error_code failed;
  fs::copy_file(fs::path{*builtin} / "tokenizer.json", fs::path{directory} / "tokenizer.json",
                fs::copy_options::overwrite_existing, failed);
  if (failed)
    return error{errc::io_failed, directory + "/tokenizer.json: " + failed.message()};
  return shape;
}

} // namespace penstock::apps::bench
