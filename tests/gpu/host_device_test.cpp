#include "gpu/host_device.hpp"
#include "model/reference.hpp"
#include "tests/gpu/device_rig.hpp"

#include <cmath>
#include <limits>

namespace penstock::gpu {
namespace {

host_options small_options() {
  host_options out;
  out.row_slots = 4;
  out.step_tokens_max = 64;
  out.context_max = 256;
  out.block_tokens = 16;
  out.blocks = 32;
  return out;
}

class host_device_test : public testing::Test {
protected:
  void make(const host_options& options = small_options()) {
    pool.assign(layout_of(model.config, options).pool_bytes() / 4, 0.0F);
    device = std::make_unique<host_device>(model.config, model.weights, options,
                                           std::as_writable_bytes(std::span(pool)),
                                           **kernels_for(kernel_path::best), time);
  }
  step_output run(std::vector<row_run> rows) {
    step_output out;
    uint32_t calls = 0;
    device->submit({7, std::move(rows)}, [&](step_output done) {
      out = std::move(done);
      ++calls;
    });
    EXPECT_EQ(calls, 1U);
    EXPECT_EQ(out.number, 7U);
    return out;
  }
  static row_run row(uint32_t slot, uint32_t position, std::vector<token_id> tokens, bool sample) {
    row_run out;
    out.slot = slot;
    out.position = position;
    out.tokens = std::move(tokens);
    out.blocks = {slot * 4, slot * 4 + 1, slot * 4 + 2, slot * 4 + 3};
    out.sample = sample;
    return out;
  }

  model::tiny_model model = model::make_tiny(small_config(), model::dtype::f32, 5);
  std::vector<float> pool;
  still_clock time;
  std::unique_ptr<host_device> device;
};

TEST_F(host_device_test, agrees_with_the_reference_pass) {
  for (const auto type : {model::dtype::f32, model::dtype::bf16, model::dtype::f16})
    for (const bool tied : {false, true}) {
      auto config = model::tiny_config();
      config.tie_embeddings = tied;
      config.rope_scaling = model::rope_scaling_llama3{4.0F, 1.0F, 4.0F, 32};
      model = model::make_tiny(config, type, 6);
      make();
      std::vector<token_id> tokens;
      for (uint32_t i = 0; i < 60; ++i)
        tokens.push_back((i * 37 + 11) % config.vocab);
      const auto out = run({row(0, 0, tokens, true)});
      ASSERT_EQ(out.sampled.size(), 1U);
      auto expected = model::reference_last_logits(config, model.weights, tokens);
      for (uint32_t i = 0; i < config.vocab; ++i)
        EXPECT_NEAR(device->logits(0)[i], expected[i], 2e-4) << i;
      model::log_softmax_ref(expected);
      EXPECT_NEAR(out.sampled[0].token.logprob, expected[out.sampled[0].token.id], 2e-4);
    }
}

TEST_F(host_device_test, a_slot_feeds_its_last_sampled_token) {
  make();
  const auto first = run({row(1, 0, {5, 6, 7}, true), row(2, 0, {5, 6, 7}, false)});
  ASSERT_EQ(first.sampled.size(), 1U);
  EXPECT_EQ(first.sampled[0].slot, 1U);
  const auto by_slot = run({row(1, 3, {}, true)});
  const auto by_token = run({row(2, 3, {first.sampled[0].token.id}, true)});
  EXPECT_EQ(by_slot.logits_hash, by_token.logits_hash);
  EXPECT_EQ(by_slot.sampled[0].token.id, by_token.sampled[0].token.id);
}

TEST_F(host_device_test, a_step_that_samples_nothing_writes_the_same_kv) {
  make();
  (void)run({row(0, 0, {1, 2, 3, 4, 5}, false)});
  const auto split = run({row(0, 5, {6}, true)});
  make();
  const auto whole = run({row(0, 0, {1, 2, 3, 4, 5, 6}, true)});
  EXPECT_EQ(split.logits_hash, whole.logits_hash);
}

TEST_F(host_device_test, an_empty_step_ends_too) {
  make();
  const auto out = run({});
  EXPECT_EQ(out.code, errc::ok);
  EXPECT_TRUE(out.sampled.empty());
}

TEST_F(host_device_test, reports_logits_that_are_not_finite) {
  make();
  (void)run({row(0, 0, {1, 2, 3}, false)});
  pool[0] = std::numeric_limits<float>::quiet_NaN(); // A key of slot 0's first block.
  const auto out = run({row(0, 3, {4}, true), row(1, 0, {4}, true)});
  EXPECT_EQ(out.code, errc::device_failed);
  EXPECT_NE(out.detail.find("slot 0"), std::string::npos) << out.detail;
}

TEST_F(host_device_test, measures_the_time_between_steps) {
  make();
  time.now_ = 100;
  EXPECT_EQ(run({row(0, 0, {1}, false)}).idle_us, 100U);
  time.now_ = 130;
  EXPECT_EQ(run({row(0, 1, {1}, false)}).idle_us, 30U);
}

TEST_F(host_device_test, a_step_beyond_the_limits_is_a_bug) {
  make();
  EXPECT_DEATH((void)run({row(4, 0, {1}, false)}), "check failed");
  EXPECT_DEATH((void)run({row(0, 0, {}, false)}), "check failed");
  EXPECT_DEATH((void)run({row(0, 0, std::vector<token_id>(65, 1), false)}), "check failed");
  EXPECT_DEATH((void)run({row(0, 63, {1, 2}, false)}), "check failed"); // Past its blocks.
  EXPECT_DEATH((void)run({row(0, 0, {99}, false)}), "check failed");    // Past the vocabulary.
  EXPECT_DEATH((void)run({row(0, 0, {1}, false), row(0, 1, {1}, false)}), "check failed");
}

TEST_F(host_device_test, refuses_options_that_cannot_work) {
  const auto refused = [this](auto change) {
    auto options = small_options();
    change(options);
    const auto checked = check_options(model.config, options);
    return checked ? std::string{} : checked.err().text();
  };
  EXPECT_EQ(refused([](host_options&) {}), "");
  const auto has = [&](auto change, const std::string& word) {
    EXPECT_NE(refused(change).find(word), std::string::npos) << refused(change);
  };
  has([](host_options& o) { o.threads = 0; }, "threads");
  has([](host_options& o) { o.threads = 257; }, "threads");
  has([](host_options& o) { o.cores = {0, 1}; }, "cores");
  has([](host_options& o) { o.row_slots = 0; }, "row_slots");
  has([](host_options& o) { o.step_tokens_max = 0; }, "step_tokens_max");
  has([](host_options& o) { o.context_max = 513; }, "context_max");
  has([](host_options& o) { o.block_tokens = 24; }, "block_tokens");
  has([](host_options& o) { o.blocks = 0; }, "blocks");
  has([](host_options& o) { o.kv = kv_dtype::bf16; }, "unsupported");
}

TEST_F(host_device_test, estimates_its_memory) {
  const auto& c = model.config;
  const auto memory = memory_of(c, model.weights, small_options());
  const size_t matrices = size_t{c.hidden} * (c.heads + 2 * c.kv_heads) * c.head_dim
                          + size_t{c.hidden} * c.heads * c.head_dim
                          + size_t{3} * c.hidden * c.intermediate;
  EXPECT_GE(memory.weights, (matrices * c.layers + size_t{c.vocab} * c.hidden) * 4);
  EXPECT_LE(memory.weights, (matrices * c.layers + size_t{c.vocab} * c.hidden) * 4 * 11 / 10);
  EXPECT_EQ(memory.kv, size_t{2} * c.layers * 32 * 16 * c.kv_heads * c.head_dim * 4);
  EXPECT_GT(memory.activations, size_t{64} * 2 * c.intermediate * 4);
  EXPECT_EQ(memory.total(), memory.weights + memory.kv + memory.activations);
}

TEST_F(host_device_test, its_numerics_id_is_that_of_the_page) {
  make();
  EXPECT_EQ(device->numerics_id(), "n1;product=512;tile=64;kv=f32");
}

} // namespace
} // namespace penstock::gpu
