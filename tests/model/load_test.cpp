#include "model/load.hpp"
#include "model/reference.hpp"
#include "model/write_hf.hpp"
#include "model_test_support.hpp"

#include <gmock/gmock.h>

namespace penstock::model {
namespace {

using ::testing::HasSubstr;
using namespace testing;

json small_tokenizer() {
  return tokenizer_json({"<unk>", "<s>", "</s>", "a", "b", "ab"}, {"a b"});
}

void write_text(const fs::path& path, const std::string& text) {
  ASSERT_TRUE(write_file(path, bytes_of(text)));
}

// A complete model directory of its own.
class load : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(write_hf(model, folder()));
    write_text(folder() / "tokenizer.json", small_tokenizer().dump());
  }
  [[nodiscard]] fs::path folder() const { return scratch.path() / "small"; }
  [[nodiscard]] error refusal() const {
    const auto loaded = load_model(folder());
    EXPECT_FALSE(loaded);
    return loaded ? error{} : loaded.err();
  }

  scratch_folder scratch;
  tiny_model model = make_tiny(tiny_config(), dtype::bf16, 5);
};

TEST_F(load, gives_a_model_that_computes_what_was_written) {
  const auto loaded = load_model(folder());
  ASSERT_TRUE(loaded) << loaded.err().text();
  const loaded_model& m = **loaded;
  EXPECT_EQ(m.name, "small");
  EXPECT_EQ(m.config, model.config);
  const std::vector<token_id> ids{1, 3, 4};
  EXPECT_EQ(reference_last_logits(m.config, m.weights, ids),
            reference_last_logits(model.config, model.weights, ids));
  EXPECT_EQ(m.digest, digest_of(model.config, model.weights));
}

TEST_F(load, the_digest_survives_renaming_and_sharding) {
  const auto before = load_model(folder() / "");
  ASSERT_TRUE(before);
  EXPECT_EQ((*before)->name, "small");
  const fs::path moved = scratch.path() / "moved";
  ASSERT_TRUE(write_hf(model, moved, 4));
  fs::copy(folder() / "tokenizer.json", moved);
  const auto after = load_model(moved);
  ASSERT_TRUE(after) << after.err().text();
  EXPECT_EQ((*after)->digest, (*before)->digest);
  EXPECT_EQ((*after)->tokenizer.digest(), (*before)->tokenizer.digest());
}

TEST_F(load, generation_config_decides_what_ends_a_text) {
  write_text(folder() / "generation_config.json", R"({"eos_token_id": [2, 5]})");
  const auto loaded = load_model(folder());
  ASSERT_TRUE(loaded) << loaded.err().text();
  EXPECT_EQ((*loaded)->config.eos, (std::vector<token_id>{2, 5}));
  write_text(folder() / "generation_config.json", R"({"eos_token_id": [2, 256]})");
  EXPECT_THAT(refusal().detail, HasSubstr("generation_config.json: key `eos_token_id`"));
}

TEST_F(load, says_which_file_is_missing) {
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    fs::rename(folder() / name, scratch.path() / "aside");
    EXPECT_EQ(refusal().code, errc::io_failed);
    EXPECT_THAT(refusal().detail, HasSubstr(name));
    fs::rename(scratch.path() / "aside", folder() / name);
  }
}

TEST_F(load, says_what_is_wrong_with_the_path) {
  const auto none = load_model(scratch.path() / "nothing");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.err().detail, HasSubstr("does not exist"));
  const auto file = load_model(folder() / "config.json");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.err().detail, HasSubstr("not a directory"));
  const auto gguf = load_model(scratch.path() / "model.gguf");
  ASSERT_FALSE(gguf);
  EXPECT_EQ(gguf.err().code, errc::unsupported);
  EXPECT_THAT(gguf.err().detail, HasSubstr("GGUF files are not read yet"));
}

TEST_F(load, refuses_truncated_and_oversized_files) {
  for (const char* name : {"config.json", "model.safetensors", "tokenizer.json"}) {
    const std::string whole = read_text(folder() / name);
    write_text(folder() / name, whole.substr(0, whole.size() / 2));
    EXPECT_EQ(refusal().code, errc::malformed) << name;
    EXPECT_THAT(refusal().detail, HasSubstr(name));
    write_text(folder() / name, "");
    EXPECT_EQ(refusal().code, errc::malformed) << name;
    write_text(folder() / name, whole);
  }
  fs::resize_file(folder() / "config.json", config_bytes_max + 1);
  EXPECT_THAT(refusal().detail, HasSubstr("allowed are at most"));
}

TEST_F(load, refuses_a_config_of_another_size_than_the_weights) {
  model_config config = model.config;
  config.intermediate = 161;
  write_text(folder() / "config.json", config_json_text(config));
  EXPECT_THAT(refusal().detail, HasSubstr("shape expected [161, 64], found [160, 64]"));
  config = model.config;
  config.layers = 1;
  write_text(folder() / "config.json", config_json_text(config));
  EXPECT_THAT(refusal().detail, HasSubstr("model.layers.1."));
  config.layers = 3;
  write_text(folder() / "config.json", config_json_text(config));
  EXPECT_THAT(refusal().detail, HasSubstr("model.layers.2.input_layernorm.weight`: missing"));
}

TEST_F(load, refuses_a_tokenizer_with_more_ids_than_the_embedding) {
  json document = small_tokenizer();
  add_token(document, 256, "<extra>");
  write_text(folder() / "tokenizer.json", document.dump());
  EXPECT_THAT(refusal().detail, HasSubstr("ids up to 256"));
  EXPECT_THAT(refusal().detail, HasSubstr("below vocab_size 256"));
}

} // namespace
} // namespace penstock::model
