// The host device on a trained model: ids and logits that others computed in float64.
#include "gpu/host_device.hpp"
#include "model/config.hpp"
#include "model/tensor_set.hpp"
#include "model/weights.hpp"
#include "tests/gpu/device_rig.hpp"

#include <nlohmann/json.hpp>

#include <fstream>

namespace penstock::gpu {
namespace {

const std::string model_directory = PENSTOCK_SHARED_DIR "/models/tinystories-656k";

std::string read_file(const std::string& name) {
  std::ifstream in{model_directory + "/" + name, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

nlohmann::json read_json(const std::string& name) {
  return nlohmann::json::parse(read_file(name));
}

class golden : public testing::Test {
protected:
  void SetUp() override {
    if (!std::ifstream{model_directory + "/model.safetensors"})
      GTEST_SKIP() << "no model in " << model_directory;
    const auto text = read_file("config.json");
    config = *model::parse_config(std::as_bytes(std::span(text)), "config.json");
    tensors = std::make_unique<model::tensor_set>(*model::tensor_set::open(model_directory));
    const auto weights = *model::bind_weights(config, *tensors);
    host_options options;
    options.threads = 2;
    options.row_slots = 1;
    options.step_tokens_max = 256;
    options.context_max = 256;
    options.block_tokens = 32;
    options.blocks = 8;
    pool.resize(layout_of(config, options).pool_bytes() / 4);
    device = std::make_unique<host_device>(config, weights, options,
                                           std::as_writable_bytes(std::span(pool)),
                                           **kernels_for(kernel_path::best), time);
  }
  generated_token feed(std::vector<token_id> tokens, uint32_t position) {
    row_run row;
    row.position = position;
    row.tokens = std::move(tokens);
    row.blocks = {7, 0, 3, 1, 2, 6, 5, 4};
    row.sample = true;
    generated_token out;
    device->submit({0, {row}}, [&](const step_output& done) {
      EXPECT_EQ(done.code, errc::ok) << done.detail;
      out = done.sampled.at(0).token;
    });
    return out;
  }

  model::model_config config;
  std::unique_ptr<model::tensor_set> tensors;
  std::vector<float> pool;
  still_clock time;
  std::unique_ptr<host_device> device;
};

TEST_F(golden, greedy_ids_are_exact) {
  const auto file = read_json("golden_greedy.json");
  EXPECT_EQ(file.at("cases").size(), 6U);
  for (const auto& test : file.at("cases")) {
    const auto prompt = test.at("prompt_ids").get<std::vector<token_id>>();
    const auto ids = test.at("ids_out").get<std::vector<token_id>>();
    // ids_out[i] follows position i; inside the prompt it is the prompt's own next token.
    uint32_t position = static_cast<uint32_t>(prompt.size());
    token_id last = feed(prompt, 0).id;
    EXPECT_EQ(last, ids.at(position - 1));
    for (; position < ids.size(); ++position) {
      last = feed({}, position).id;
      ASSERT_EQ(last, ids[position]) << test.at("prompt") << " position " << position;
    }
  }
}

TEST_F(golden, logits_and_logprobs_are_close) {
  const auto file = read_json("golden_logits.json");
  const auto ids = file.at("input_ids").get<std::vector<token_id>>();
  const auto logprobs = file.at("logprob_of_next").get<std::vector<double>>();
  const auto& full = file.at("full_logits");
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const auto token = feed({ids[i]}, i);
    if (i < logprobs.size() && token.id == ids[i + 1]) {
      EXPECT_NEAR(token.logprob, logprobs[i], 1e-4) << i;
    }
    if (!full.contains(std::to_string(i)))
      continue;
    const auto expected = full.at(std::to_string(i)).get<std::vector<double>>();
    ASSERT_EQ(expected.size(), device->logits(0).size());
    for (size_t id = 0; id < expected.size(); ++id)
      EXPECT_NEAR(device->logits(0)[id], expected[id], 2e-4) << i << " " << id;
  }
}

} // namespace
} // namespace penstock::gpu
