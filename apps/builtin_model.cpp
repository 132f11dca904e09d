#include "apps/builtin_model.hpp"

#include "cluster/config.hpp"

#include <array>
#include <filesystem>

namespace penstock::apps {

namespace fs = std::filesystem;

namespace {

bool holds(const fs::path& directory, std::string_view file) {
  std::error_code failed;
  return fs::is_regular_file(directory / file, failed);
}

} // namespace

std::string executable_path() {
  std::error_code failed;
  auto path = fs::read_symlink("/proc/self/exe", failed);
  return failed ? std::string{} : path.string();
}

result<std::string> model_directory(std::string_view model, std::string_view needed) {
  if (model != cluster::model_builtin) {
    if (holds(fs::path{model}, needed))
      return std::string{model};
    return error{errc::invalid_argument,
                 "model " + cluster::in_quotes(model) + " has no " + std::string{needed}
                   + "; allowed: \"builtin\" or the path of a Hugging Face directory"};
  }
  auto beside = fs::path{executable_path()}.parent_path();
  const std::array<fs::path, 3> places{beside / "../share/penstock/builtin",
                                       PENSTOCK_BUILTIN_SOURCE, PENSTOCK_BUILTIN_INSTALLED};
  for (const auto& place : places)
    if (holds(place, needed))
      return place.lexically_normal().string();
  return error{errc::invalid_argument, "the built-in model is not where it was built or installed ("
                                         + places[1].string() + "); name one with --model PATH"};
}

} // namespace penstock::apps
