#include "model/config.hpp"
#include "model/tiny.hpp"
#include "model_test_support.hpp"

#include <gmock/gmock.h>

namespace penstock::model {
namespace {

using testing::bytes_of;
using ::testing::HasSubstr;

json valid() {
  return {{"model_type", "llama"},  {"hidden_size", 64},        {"intermediate_size", 160},
          {"num_hidden_layers", 2}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
          {"vocab_size", 256},      {"rms_norm_eps", 1e-5},     {"max_position_embeddings", 512},
          {"rope_theta", 5e5},      {"bos_token_id", 1},        {"eos_token_id", {2, 3}},
          {"hidden_act", "silu"},   {"rope_scaling", nullptr}};
}

result<model_config> parse(const json& document) {
  return parse_config(bytes_of(document.dump()), "config.json");
}

// Parses the valid document with one key changed.
result<model_config> with(const char* key, const json& value) {
  json document = valid();
  document[key] = value;
  return parse(document);
}

TEST(config, reads_what_a_hub_file_says) {
  const auto config = parse(valid());
  ASSERT_TRUE(config) << config.err().text();
  EXPECT_EQ(config->hidden, 64u);
  EXPECT_EQ(config->head_dim, 16u);
  EXPECT_EQ(config->kv_heads, 2u);
  EXPECT_EQ(config->rope_theta, 5e5F);
  EXPECT_EQ(config->rms_eps, 1e-5F);
  EXPECT_EQ(config->bos, 1u);
  EXPECT_EQ(config->eos, (std::vector<token_id>{2, 3}));
  EXPECT_FALSE(config->rope_scaling);
  EXPECT_FALSE(config->tie_embeddings);
}

TEST(config, fills_in_what_old_files_leave_out) {
  json document = valid();
  for (const char* key : {"num_key_value_heads", "rope_theta", "bos_token_id", "eos_token_id",
                          "hidden_act", "rope_scaling"})
    document.erase(key);
  const auto config = parse(document);
  ASSERT_TRUE(config) << config.err().text();
  EXPECT_EQ(config->kv_heads, 4u);
  EXPECT_EQ(config->rope_theta, 10000.0F);
  EXPECT_FALSE(config->bos);
  EXPECT_TRUE(config->eos.empty());
}

TEST(config, takes_a_head_dim_that_hidden_does_not_imply) {
  const auto config = with("head_dim", 32);
  ASSERT_TRUE(config);
  EXPECT_EQ(config->head_dim, 32u);
}

TEST(config, reads_llama3_scaling_from_both_places) {
  const json scaling
    = {{"rope_type", "llama3"},   {"factor", 8.0},     {"low_freq_factor", 1.0},
       {"high_freq_factor", 4.0}, {"rope_theta", 5e5}, {"original_max_position_embeddings", 128}};
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto config = with(key, scaling);
    ASSERT_TRUE(config) << config.err().text();
    ASSERT_TRUE(config->rope_scaling);
    EXPECT_EQ(config->rope_scaling->factor, 8.0F);
    EXPECT_EQ(config->rope_scaling->original_context, 128u);
  }
}

TEST(config, survives_the_way_through_its_own_text) {
  model_config config = tiny_config();
  config.rope_scaling = rope_scaling_llama3{8.0F, 1.0F, 4.0F, 128};
  config.rms_eps = 1e-6F;
  config.tie_embeddings = true;
  const auto back = parse_config(bytes_of(config_json_text(config)), "config.json");
  ASSERT_TRUE(back) << back.err().text();
  EXPECT_EQ(*back, config);
}

TEST(config, names_key_found_and_allowed) {
  const auto config = with("num_hidden_layers", 0);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.err().code, errc::malformed);
  EXPECT_THAT(config.err().detail, HasSubstr("config.json: key `num_hidden_layers`"));
  EXPECT_THAT(config.err().detail, HasSubstr("found 0, allowed: an integer from 1 to"));
}

TEST(config, refuses_values_out_of_range) {
  const std::pair<const char*, json> bad[] = {{"hidden_size", -64},
                                              {"hidden_size", "64"},
                                              {"hidden_size", 64.5},
                                              {"hidden_size", 1ULL << 40U},
                                              {"hidden_size", nullptr},
                                              {"num_attention_heads", 5},
                                              {"num_key_value_heads", 3},
                                              {"num_key_value_heads", 8},
                                              {"head_dim", 15},
                                              {"vocab_size", 0},
                                              {"max_position_embeddings", 0},
                                              {"max_position_embeddings", 1U << 30U},
                                              {"rope_theta", 0},
                                              {"rope_theta", "big"},
                                              {"rms_norm_eps", 0},
                                              {"rms_norm_eps", -1e-5},
                                              {"eos_token_id", 256},
                                              {"eos_token_id", {1, "a"}},
                                              {"bos_token_id", -1},
                                              {"tie_word_embeddings", 1},
                                              {"rope_scaling", 3}};
  for (const auto& [key, value] : bad) {
    const auto config = with(key, value);
    ASSERT_FALSE(config) << key << " " << value;
    EXPECT_EQ(config.err().code, errc::malformed) << config.err().text();
    EXPECT_THAT(config.err().detail, HasSubstr("allowed"));
  }
}

TEST(config, refuses_networks_it_would_compute_wrongly) {
  const std::pair<const char*, json> bad[]
    = {{"model_type", "qwen3"},
       {"model_type", nullptr},
       {"hidden_act", "gelu"},
       {"attention_bias", true},
       {"mlp_bias", true},
       {"quantization_config", {{"bits", 4}}},
       {"sliding_window", 128},
       {"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}},
       {"partial_rotary_factor", 0.5}};
  for (const auto& [key, value] : bad) {
    const auto config = with(key, value);
    ASSERT_FALSE(config) << key << " " << value;
    EXPECT_EQ(config.err().code, errc::unsupported) << config.err().text();
  }
}

TEST(config, refuses_broken_documents) {
  EXPECT_FALSE(parse_config({}, "config.json"));
  EXPECT_FALSE(parse_config(bytes_of("[]"), "config.json"));
  EXPECT_FALSE(parse_config(bytes_of("{\"hidden_size\": 64"), "config.json"));
  EXPECT_FALSE(parse_config(bytes_of(std::string(config_bytes_max + 1, ' ')), "config.json"));
  EXPECT_FALSE(parse_config(bytes_of("{\"a\": " + std::string(100, '[')), "config.json"));
  EXPECT_FALSE(parse_config(bytes_of("{\"rope_theta\": 1e999}"), "config.json"));
  const auto twice
    = parse_config(bytes_of("{\"vocab_size\": 1, \"vocab_size\": 2}"), "config.json");
  ASSERT_FALSE(twice);
  EXPECT_THAT(twice.err().detail, HasSubstr("`vocab_size`: appears twice"));
}

TEST(generation_config, replaces_the_special_ids_only) {
  auto config = parse(valid());
  ASSERT_TRUE(config);
  ASSERT_TRUE(parse_generation_config(bytes_of(R"({"eos_token_id": 9})"), "g.json", *config));
  EXPECT_EQ(config->eos, std::vector<token_id>{9});
  EXPECT_EQ(config->bos, 1u);
  EXPECT_FALSE(parse_generation_config(bytes_of(R"({"eos_token_id": 900})"), "g.json", *config));
  EXPECT_EQ(config->eos, std::vector<token_id>{9});
}

} // namespace
} // namespace penstock::model
