#include "model/tiny.hpp"
#include "model/weights.hpp"
#include "model/write_hf.hpp"
#include "model_test_support.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace penstock::model {
namespace {

using testing::bytes_of;
using ::testing::HasSubstr;
using testing::scratch_folder;

using named = std::vector<std::pair<std::string, tensor_view>>;

tiny_model small(bool tied = false) {
  model_config config = tiny_config();
  config.tie_embeddings = tied;
  return make_tiny(config, dtype::bf16, 7);
}

tensor_set set_of(const named& tensors,
                  std::vector<std::pair<std::string, std::string>> metadata = {}) {
  safetensors_contents contents;
  for (const auto& [name, view] : tensors)
    contents.tensors.push_back({name, std::string{name_of(view.type)}, view});
  contents.metadata = std::move(metadata);
  tensor_set out;
  EXPECT_TRUE(out.add(std::move(contents), "test"));
  return out;
}

tensor_view& view_of(named& tensors, std::string_view name) {
  return std::find_if(tensors.begin(), tensors.end(),
                      [&](const auto& t) { return t.first == name; })
    ->second;
}

TEST(weights, binds_every_tensor_to_its_place) {
  const tiny_model model = small();
  const auto bound = bind_weights(model.config, set_of(named_tensors(model)));
  ASSERT_TRUE(bound) << bound.err().text();
  EXPECT_EQ(bound->embed.data, model.weights.embed.data);
  EXPECT_EQ(bound->layers[1].down.data, model.weights.layers[1].down.data);
  EXPECT_EQ(bound->lm_head.data, model.weights.lm_head.data);
}

TEST(weights, names_tensor_expected_and_found_shape) {
  const tiny_model model = small();
  named tensors = named_tensors(model);
  view_of(tensors, "model.layers.1.self_attn.k_proj.weight").dims = shape{64, 32};
  const auto bound = bind_weights(model.config, set_of(tensors));
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.err().detail, "tensor `model.layers.1.self_attn.k_proj.weight`: shape expected "
                                "[32, 64], found [64, 32]");
}

TEST(weights, names_the_tensor_that_is_missing) {
  const tiny_model model = small();
  named tensors = named_tensors(model);
  tensors.erase(tensors.begin() + 5);
  const auto bound = bind_weights(model.config, set_of(tensors));
  ASSERT_FALSE(bound);
  EXPECT_THAT(bound.err().detail, HasSubstr("model.layers.0.self_attn.o_proj.weight`: missing"));
}

TEST(weights, ties_the_output_if_flagged_or_absent) {
  const tiny_model tied = small(true);
  const auto by_flag = bind_weights(tied.config, set_of(named_tensors(tied)));
  ASSERT_TRUE(by_flag);
  EXPECT_EQ(by_flag->lm_head.data, by_flag->embed.data);
  model_config untied = tied.config;
  untied.tie_embeddings = false;
  const auto by_absence = bind_weights(untied, set_of(named_tensors(tied)));
  ASSERT_TRUE(by_absence);
  EXPECT_EQ(by_absence->lm_head.data, by_absence->embed.data);
}

TEST(weights, finds_a_tied_embedding_stored_as_the_output) {
  const tiny_model model = small(true);
  named tensors = named_tensors(model);
  tensors[0].first = "lm_head.weight";
  const auto by_flag = bind_weights(model.config, set_of(tensors));
  ASSERT_TRUE(by_flag) << by_flag.err().text();
  EXPECT_EQ(by_flag->embed.data, model.weights.embed.data);
  model_config unflagged = model.config;
  unflagged.tie_embeddings = false;
  EXPECT_FALSE(bind_weights(unflagged, set_of(tensors)));
  const auto by_metadata
    = bind_weights(unflagged, set_of(tensors, {{"model.embed_tokens.weight", "lm_head.weight"}}));
  ASSERT_TRUE(by_metadata) << by_metadata.err().text();
  EXPECT_EQ(by_metadata->embed.data, by_metadata->lm_head.data);
}

TEST(weights, refuses_tensors_that_no_llama_has) {
  const tiny_model model = small();
  named tensors = named_tensors(model);
  tensors.emplace_back("model.layers.0.self_attn.rotary_emb.inv_freq", tensors[1].second);
  EXPECT_TRUE(bind_weights(model.config, set_of(tensors)));
  tensors.emplace_back("model.layers.0.self_attn.q_norm.weight", tensors[1].second);
  const auto bound = bind_weights(model.config, set_of(tensors));
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.err().code, errc::unsupported);
  EXPECT_THAT(bound.err().detail, HasSubstr("q_norm"));
}

TEST(weights, digest_sees_bytes_and_hyper_parameters_only) {
  tiny_model model = small();
  const digest128 digest = digest_of(model.config, model.weights);
  EXPECT_EQ(digest_of(model.config, small().weights), digest);
  model_config other = model.config;
  other.rope_theta = 20000.0F;
  EXPECT_NE(digest_of(other, model.weights), digest);
  other = model.config;
  other.eos = {5};
  EXPECT_EQ(digest_of(other, model.weights), digest);
  std::swap(model.weights.layers[0].k, model.weights.layers[0].v);
  EXPECT_NE(digest_of(model.config, model.weights), digest);
  std::swap(model.weights.layers[0].k, model.weights.layers[0].v);
  model.storage.back().bytes[0] ^= std::byte{1};
  EXPECT_NE(digest_of(model.config, model.weights), digest);
}

TEST(tensor_set, opens_shards_as_one) {
  const tiny_model model = small();
  const scratch_folder folder;
  ASSERT_TRUE(write_hf(model, folder.path(), 3));
  const auto tensors = tensor_set::open(folder.path());
  ASSERT_TRUE(tensors) << tensors.err().text();
  const auto bound = bind_weights(model.config, *tensors);
  ASSERT_TRUE(bound) << bound.err().text();
  EXPECT_EQ(digest_of(model.config, *bound), digest_of(model.config, model.weights));
}

// Writes `index` over the index of a sharded model and returns the error.
std::string index_refusal(const json& index) {
  const scratch_folder folder;
  EXPECT_TRUE(write_hf(small(), folder.path(), 2));
  const std::string text = index.dump();
  EXPECT_TRUE(write_file(folder.path() / "model.safetensors.index.json", bytes_of(text)));
  const auto tensors = tensor_set::open(folder.path());
  return tensors ? "" : tensors.err().text();
}

TEST(tensor_set, shards_stay_inside_the_directory) {
  for (const char* shard : {"../model.safetensors", "/etc/passwd", "a/b.safetensors", "..", ""})
    EXPECT_THAT(index_refusal({{"weight_map", {{"a", shard}}}}),
                HasSubstr("must name a file in the same directory"));
}

TEST(tensor_set, refuses_an_index_that_does_not_fit_its_shards) {
  EXPECT_THAT(index_refusal({{"weight_map", json::object()}}), HasSubstr("weight_map"));
  EXPECT_THAT(index_refusal({{"weight_map", {{"a", 1}}}}), HasSubstr("same directory"));
  EXPECT_THAT(index_refusal({{"weight_map", {{"a", "model-00009-of-00009.safetensors"}}}}),
              HasSubstr("cannot open"));
  EXPECT_THAT(index_refusal({{"weight_map", {{"a", "model-00001-of-00002.safetensors"}}}}),
              HasSubstr("`a`: is not in"));
}

TEST(tensor_set, refuses_a_name_in_two_shards) {
  const tiny_model model = small();
  tensor_set tensors = set_of(named_tensors(model));
  safetensors_contents again;
  again.tensors.push_back({"model.norm.weight", "BF16", model.weights.final_norm});
  const auto added = tensors.add(std::move(again), "second");
  ASSERT_FALSE(added);
  EXPECT_THAT(added.err().detail, HasSubstr("`model.norm.weight` is in another shard too"));
}

} // namespace
} // namespace penstock::model
