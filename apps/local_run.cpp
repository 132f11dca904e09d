#include "apps/local_run.hpp"

#include "actors/hold_back.hpp"
#include "actors/opened_request.hpp"
#include "base/clock.hpp"
#include "gpu/host_device.hpp"
#include "model/detokenizer.hpp"
#include "model/load.hpp"
#include "schema/request_check.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

namespace penstock::apps {

namespace {

/// The request's prompt as ids, or why it is refused: the checks of a gateway, in its order.
result<std::vector<token_id>> prompt_ids(const model::loaded_model& model,
                                         const generate_request& request) {
  auto checked = request;
  checked.model.clear();
  checked.budget_us = 1;
  if (auto form = schema::check_request(checked); !form)
    return form.err();
  auto opened = actors::open_request(request, model.tokenizer, model.config.context);
  if (!opened)
    return opened.err();
  return std::move(opened->prompt);
}

/// A host device for one row, and the row's story.
class local_runner {
public:
  local_runner(const model::loaded_model& model, const gpu::host_options& options,
               const gpu::kernel_table& kernels)
    : layout_(gpu::layout_of(model.config, options)),
      pool_(std::make_unique<std::byte[]>(layout_.pool_bytes())),
      device_(model.config, model.weights, options, {pool_.get(), layout_.pool_bytes()}, kernels,
              time_) {}

  /// Feeds `tokens` at the current position; none: the slot's last sampled one.
  /// @param row What to sample, if anything; its place is filled in.
  result<generated_token> step(std::vector<token_id> tokens, gpu::row_run row) {
    row.position = position_;
    row.tokens = std::move(tokens);
    position_ += row.count();
    row.blocks.resize(layout_.blocks_for(position_));
    std::iota(row.blocks.begin(), row.blocks.end(), 0U);
    gpu::step work;
    work.number = ++steps_;
    work.rows.push_back(std::move(row));
    gpu::step_output out;
    device_.submit(std::move(work), [&out](gpu::step_output o) { out = std::move(o); });
    if (out.code != errc::ok)
      return error{out.code, out.detail};
    return out.sampled.empty() ? generated_token{} : out.sampled.front().token;
  }

  result<void> prefill(const std::vector<token_id>& prompt, uint32_t chunk) {
    for (size_t at = 0; at + 1 < prompt.size();) {
      auto end = std::min(at + chunk, prompt.size() - 1);
      auto done = step(
        {prompt.begin() + static_cast<ptrdiff_t>(at), prompt.begin() + static_cast<ptrdiff_t>(end)},
        {});
      if (!done)
        return done.err();
      at = end;
    }
    return {};
  }

  [[nodiscard]] time_us now() const { return time_.now(); }

private:
  steady_clock time_;
  gpu::kv_layout layout_;
  std::unique_ptr<std::byte[]> pool_;
  gpu::host_device device_;
  uint32_t position_ = 0;
  uint64_t steps_ = 0;
};

/// What the next step samples. @param count Tokens sampled so far.
gpu::row_run sampled_run(const sampling_params& sampling, const std::vector<token_id>& prompt,
                         const std::vector<token_id>& ends, uint32_t count) {
  gpu::row_run out;
  out.sample = true;
  out.rules = gpu::rules_of(sampling);
  if (count < sampling.tokens_min)
    out.barred = ends;
  if (count == 0 && out.rules.repetition_penalty != 1.0F)
    out.seen = prompt;
  return out;
}

/// Decodes until an end id, a stop string or `tokens_max`, filling in the answer.
void decode(local_runner& runner, const model::loaded_model& model,
            const std::vector<token_id>& prompt, const generate_request& request,
            uint32_t tokens_max, time_us began, answer& out,
            const std::function<void(std::string_view)>& on_text) {
  model::detokenizer text{model.tokenizer};
  text.skip(prompt);
  actors::hold_back held{request.stop_strings};
  auto hand_on = [&] {
    auto ready = held.take();
    out.tokens.insert(out.tokens.end(), ready.tokens.begin(), ready.tokens.end());
    out.arrivals_us.insert(out.arrivals_us.end(), ready.tokens.size(), runner.now() - began);
    out.text += ready.text;
    if (on_text && !ready.text.empty())
      on_text(ready.text);
  };
  auto ends = ends_of(request.sampling, model.config.eos);
  std::vector<token_id> feed{prompt.back()};
  auto& o = out.outcome;
  o.reason = finish_reason::length;
  for (uint32_t count = 0; count < tokens_max && !held.stopped(); ++count) {
    auto token = runner.step(std::move(feed), sampled_run(request.sampling, prompt, ends, count));
    feed.clear();
    if (!token) {
      o.reason = finish_reason::failed;
      o.code = token.err().code;
      o.detail = token.err().detail;
      break;
    }
    if (std::find(ends.begin(), ends.end(), token->id) != ends.end()) {
      o.reason = finish_reason::stop;
      break;
    }
    auto piece = text.push(token->id);
    held.push(*token, piece, text.is_mid_character());
    hand_on();
  }
  held.finish(text.flush());
  hand_on();
  if (held.stopped() && o.code == errc::ok)
    o.reason = finish_reason::stop;
}

} // namespace

answer run_local(const model::loaded_model& model, const generate_request& request,
                 const local_options& options,
                 const std::function<void(std::string_view)>& on_text) {
  answer out;
  out.outcome = schema::refused_outcome({errc::internal, {}});
  auto prompt = prompt_ids(model, request);
  auto kernels = gpu::kernels_for(gpu::kernel_path::best);
  gpu::host_options host;
  host.threads = options.threads;
  host.row_slots = 1;
  host.step_tokens_max = options.chunk;
  host.context_max = model.config.context;
  host.block_tokens = options.block_tokens;
  auto possible = !prompt ? result<void>{prompt.err()} : result<void>{};
  uint32_t tokens_max = 0;
  if (prompt) {
    auto count = static_cast<uint32_t>(prompt->size());
    tokens_max = std::min(request.sampling.tokens_max, model.config.context - count);
    host.blocks = (count + tokens_max + host.block_tokens - 1) / host.block_tokens;
    possible = !kernels ? result<void>{kernels.err()} : gpu::check_options(model.config, host);
  }
  if (!possible) {
    out.outcome = schema::refused_outcome(possible.err());
    return out;
  }
  local_runner runner{model, host, **kernels};
  auto began = runner.now();
  auto filled = runner.prefill(*prompt, options.chunk);
  auto& o = out.outcome;
  o = {};
  o.timings.prefill_us = runner.now() - began;
  if (filled) {
    decode(runner, model, *prompt, request, tokens_max, began, out, on_text);
  } else {
    o.code = filled.err().code;
    o.detail = filled.err().detail;
  }
  o.timings.total_us = runner.now() - began;
  o.timings.ttft_us = out.arrivals_us.empty() ? o.timings.total_us : out.arrivals_us.front();
  o.usage.prompt_tokens = static_cast<uint32_t>(prompt->size());
  o.usage.computed_tokens = o.usage.prompt_tokens;
  o.usage.completion_tokens = static_cast<uint32_t>(out.tokens.size());
  o.placement = {"none", "local", "local", "none", 1};
  return out;
}

} // namespace penstock::apps
