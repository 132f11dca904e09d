#include "apps/bench/workload.hpp"

#include "base/rng.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::apps::bench {

namespace {

// What a stream of random ids belongs to; beside the seed and a number it is the stream's key.
enum class stream : uint64_t { prefix = 1, own = 2, block = 3 };

void append_ids(std::vector<token_id>& out, size_t count, const workload_options& options, stream s,
                uint64_t number) {
  auto key = random_bits(mix64(options.seed) ^ static_cast<uint64_t>(s), number);
  for (size_t i = 0; i < count; ++i)
    out.push_back(static_cast<token_id>(random_bits(key, i) % options.vocabulary));
}

uint32_t scaled(uint32_t tokens, double scale) {
  auto out = std::llround(std::min(static_cast<double>(tokens) * scale, 1e9));
  return static_cast<uint32_t>(std::max<long long>(out, 1));
}

} // namespace

workload::workload(prompt_source source, workload_options options)
  : source_(std::move(source)), options_(options) {
  PS_CHECK(options_.vocabulary > 0 && options_.context >= 2);
}

// Fills in the lengths, cut to what the context holds; a prompt leaves room for a token at least.
void workload::plan(planned_request& out, uint32_t prompt, uint32_t output) const {
  out.prompt_tokens = std::min(prompt, options_.context - 1);
  out.output_tokens = std::min(output, options_.context - out.prompt_tokens);
  out.cut = out.prompt_tokens < prompt || out.output_tokens < output;
}

std::vector<token_id> workload::ids_of(const trace_entry& entry, uint32_t count,
                                       uint64_t index) const {
  const auto& traced = std::get<traced_prompts>(source_);
  std::vector<token_id> out;
  size_t block_tokens = scaled(trace_block_tokens, traced.scale);
  for (auto block : entry.blocks)
    if (out.size() < count)
      append_ids(out, std::min(block_tokens, count - out.size()), options_, stream::block, block);
  append_ids(out, count - out.size(), options_, stream::own, index);
  return out;
}

planned_request workload::make(uint64_t index) const {
  planned_request out;
  if (const auto* synthetic = std::get_if<synthetic_prompts>(&source_)) {
    plan(out, synthetic->prompt_tokens, synthetic->output_tokens);
    auto shared = std::min(synthetic->shared_prefix_tokens, out.prompt_tokens);
    append_ids(out.request.prompt_ids, shared, options_, stream::prefix, 0);
    append_ids(out.request.prompt_ids, out.prompt_tokens - shared, options_, stream::own, index);
  } else if (const auto* traced = std::get_if<traced_prompts>(&source_)) {
    const auto& entry = traced->entries[index % traced->entries.size()];
    plan(out, scaled(entry.prompt_tokens, traced->scale),
         scaled(entry.output_tokens, traced->scale));
    out.request.prompt_ids = ids_of(entry, out.prompt_tokens, index);
  } else {
    const auto& texts = std::get<text_prompts>(source_);
    out.request.prompt = texts.texts[index % texts.texts.size()];
    out.output_tokens = texts.output_tokens;
  }
  out.request.sampling.tokens_max = out.output_tokens;
  out.request.sampling.ignore_end = true;
  out.request.budget_us = options_.budget_us;
  return out;
}

result<std::vector<std::string>> prompts_in(std::string_view text, const std::string& name) {
  std::vector<std::string> out;
  while (!text.empty()) {
    auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r')
      line.remove_suffix(1);
    if (!line.empty())
      out.emplace_back(line);
  }
  if (out.empty())
    return error{errc::malformed, name + ": has no prompt; one per line"};
  return out;
}

} // namespace penstock::apps::bench
