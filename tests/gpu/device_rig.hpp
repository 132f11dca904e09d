// Runs a batch of rows through a host_device under a schedule, and keeps everything it said.
//
// What a row gets must not depend on the schedule: row_independence_test compares schedules, and
// its mutants show that the comparison can fail.
#pragma once

#include "gpu/host_device.hpp"
#include "tests/gpu/device_inputs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace penstock::gpu {

class device_rig {
public:
  static constexpr uint32_t generated = 4; ///< Tokens after each prompt.

  device_rig(const model::tiny_model& model, const kernel_table& kernels, const schedule& plan,
             const std::vector<std::vector<token_id>>& prompts)
    : plan_(plan), prompts_(prompts) {
    options_.threads = plan.threads;
    options_.row_slots = static_cast<uint32_t>(prompts.size());
    options_.context_max = model.config.context;
    options_.block_tokens = plan.block_tokens;
    for (const auto& prompt : prompts) {
      options_.step_tokens_max += std::min<uint32_t>(plan.chunk, prompt.size());
      options_.blocks += blocks_of(prompt);
    }
    pool_.resize(layout_of(model.config, options_).pool_bytes() / 4);
    std::memset(pool_.data(), 0xff, pool_.size() * 4); // NaN: nothing unwritten may count.
    device_
      = std::make_unique<host_device>(model.config, model.weights, options_,
                                      std::as_writable_bytes(std::span(pool_)), kernels, time_);
    assign_blocks();
  }

  std::vector<row_result> run() {
    std::vector<row_result> out(prompts_.size());
    std::vector<uint32_t> fed(prompts_.size(), 0);
    while (true) {
      step work;
      for (uint32_t row = 0; row < prompts_.size(); ++row)
        if (out[row].tokens.size() < generated)
          work.rows.push_back(next_run(row, fed[row]));
      if (work.rows.empty())
        return out;
      device_->submit(std::move(work), [&](const step_output& done) { keep(done, out); });
    }
  }

private:
  [[nodiscard]] uint32_t blocks_of(const std::vector<token_id>& prompt) const {
    const auto tokens = static_cast<uint32_t>(prompt.size()) + generated;
    return (tokens + options_.block_tokens - 1) / options_.block_tokens;
  }

  void assign_blocks() {
    std::vector<uint32_t> order(options_.blocks);
    std::iota(order.begin(), order.end(), 0U);
    rng draws{plan_.order_seed};
    for (size_t i = order.size(); plan_.order_seed != 0 && i > 1; --i)
      std::swap(order[i - 1], order[draws.below(i)]);
    auto next = order.begin();
    for (const auto& prompt : prompts_) {
      tables_.emplace_back(next, next + blocks_of(prompt));
      next += blocks_of(prompt);
    }
  }

  row_run next_run(uint32_t row, uint32_t& fed) {
    const auto& prompt = prompts_[row];
    row_run out;
    out.slot = row;
    out.position = fed;
    out.blocks = tables_[row];
    if (fed < prompt.size()) {
      const auto count = std::min<size_t>(plan_.chunk, prompt.size() - fed);
      out.tokens.assign(prompt.begin() + fed, prompt.begin() + fed + static_cast<ptrdiff_t>(count));
    } else if (plan_.swap_blocks) {
      std::swap(out.blocks[0], out.blocks[1]);
    }
    fed += out.count();
    out.sample = fed >= prompt.size();
    const uint32_t number = plan_.first_row + row;
    out.rules.temperature = number % 2 == 0 ? 0.0F : 0.9F;
    out.rules.seed = number;
    out.rules.top_k = number % 3 == 0 ? 7 : 0;
    out.rules.top_p = number % 5 == 0 ? 0.8F : 1.0F;
    return out;
  }

  void keep(const step_output& done, std::vector<row_result>& out) const {
    ASSERT_EQ(done.code, errc::ok) << done.detail;
    for (uint32_t i = 0; i < done.sampled.size(); ++i) {
      auto& row = out[done.sampled[i].slot];
      const auto logits = device_->logits(i);
      row.logits.insert(row.logits.end(), logits.begin(), logits.end());
      row.tokens.push_back(done.sampled[i].token.id);
      row.logprobs.push_back(done.sampled[i].token.logprob);
    }
  }

  schedule plan_;
  const std::vector<std::vector<token_id>>& prompts_;
  host_options options_;
  std::vector<float> pool_;
  still_clock time_;
  std::unique_ptr<host_device> device_;
  std::vector<std::vector<uint32_t>> tables_;
};

} // namespace penstock::gpu
