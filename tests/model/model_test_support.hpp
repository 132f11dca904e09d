// Small things that the tests of model/ share: files, folders that vanish, tokenizer documents.
#pragma once

#include "base/check.hpp"
#include "base/request.hpp"
#include "model/json_text.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::model::testing {

namespace fs = std::filesystem;

inline fs::path shared_file(std::string_view name) {
  return fs::path{PENSTOCK_SHARED_DIR} / name;
}

inline std::string read_text(const fs::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}

/// A folder of its own, removed at the end.
class scratch_folder {
public:
  scratch_folder() {
    std::string name = (fs::temp_directory_path() / "penstock-model-XXXXXX").string();
    PS_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  scratch_folder(scratch_folder&&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

private:
  fs::path path_;
};

/// A tokenizer.json with this vocabulary, ids in order, and these merges ("a b").
inline json tokenizer_json(const std::vector<std::string>& vocab,
                           const std::vector<std::string>& merges) {
  json out = {{"version", "1.0"},
              {"added_tokens", json::array()},
              {"normalizer", nullptr},
              {"pre_tokenizer", nullptr},
              {"post_processor", nullptr},
              {"decoder", {{"type", "Fuse"}}},
              {"model", {{"type", "BPE"}, {"vocab", json::object()}, {"merges", merges}}}};
  for (size_t id = 0; id < vocab.size(); ++id)
    out["model"]["vocab"][vocab[id]] = id;
  return out;
}

/// Adds an added token that is special unless `flags` say otherwise.
inline void add_token(json& document, token_id id, const std::string& content,
                      const json& flags = json::object()) {
  json token = {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
                {"rstrip", false}, {"normalized", false}, {"special", true}};
  token.update(flags);
  document["added_tokens"].push_back(token);
}

} // namespace penstock::model::testing
