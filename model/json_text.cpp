#include "model/json_text.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace penstock::model {

namespace {

constexpr size_t excerpt_bytes_max = 80;

// The library would build a document of any depth before we could look at it.
size_t depth_of(std::string_view text) {
  size_t depth = 0;
  size_t deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

// Sees every key as it is read; the library itself keeps the last of two equal ones.
class duplicate_finder {
public:
  bool operator()(int /*depth*/, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start)
      seen_.emplace_back();
    else if (event == json::parse_event_t::object_end)
      seen_.pop_back();
    else if (event == json::parse_event_t::key && found_.empty()
             && !seen_.back().insert(parsed.get_ref<const std::string&>()).second)
      found_ = parsed.get<std::string>();
    return true;
  }
  [[nodiscard]] const std::string& found() const noexcept { return found_; }

private:
  std::vector<std::set<std::string>> seen_;
  std::string found_;
};

} // namespace

result<json> parse_json(std::span<const std::byte> bytes, std::string_view source,
                        duplicate_keys duplicates) {
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  const std::string where{source};
  if (depth_of(text) > json_depth_max)
    return error{errc::malformed,
                 where + ": JSON nested deeper than " + std::to_string(json_depth_max) + " levels"};
  try {
    json document;
    if (duplicates == duplicate_keys::refused) {
      duplicate_finder finder;
      document = json::parse(text, std::ref(finder));
      if (!finder.found().empty())
        return json_error(source, finder.found(), "appears twice in one object");
    } else {
      document = json::parse(text);
    }
    if (!document.is_object())
      return error{errc::malformed, where + ": the outermost JSON value must be an object"};
    return document;
  } catch (const json::parse_error& e) {
    return error{errc::malformed, where + ": not valid JSON at byte " + std::to_string(e.byte)
                                    + " of " + std::to_string(bytes.size())};
  } catch (const json::exception& e) {
    return error{errc::malformed, where + ": JSON value out of range: " + e.what()};
  }
}

error json_error(std::string_view source, std::string_view key, std::string_view what) {
  std::string detail{source};
  detail += ": key `";
  detail += key.substr(0, excerpt_bytes_max);
  detail += "`: ";
  detail += what;
  return {errc::malformed, detail};
}

std::string json_excerpt(const json& value) {
  if (value.is_structured() && value.size() > 8)
    return value.is_object() ? "a large object" : "a large list";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > excerpt_bytes_max)
    text = text.substr(0, excerpt_bytes_max) + "...";
  return text;
}

} // namespace penstock::model
