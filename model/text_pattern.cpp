#include "model/text_pattern.hpp"

#include "model/utf8.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

namespace penstock::model {

namespace {

// Longer texts may take more steps: one pass of backtracking over the whole text is normal for
// the usual `\s+(?!\S)`, many passes are not.
constexpr uint32_t steps_base = 1'000'000;
constexpr uint32_t steps_per_byte = 16;
constexpr uint32_t match_heap_kib_max = 1U << 20U;

struct free_code {
  void operator()(pcre2_code* p) const { pcre2_code_free(p); }
};
struct free_data {
  void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
};
struct free_context {
  void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
};

std::string message_of(int code) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

} // namespace

struct text_pattern::compiled {
  std::unique_ptr<pcre2_code, free_code> code;
};

text_pattern::text_pattern(std::unique_ptr<compiled> code) noexcept : code_(std::move(code)) {}
text_pattern::text_pattern(text_pattern&&) noexcept = default;
text_pattern& text_pattern::operator=(text_pattern&&) noexcept = default;
text_pattern::~text_pattern() = default;

result<text_pattern> text_pattern::compile(const std::string& pattern) {
  if (pattern.size() > pattern_bytes_max)
    return error{errc::malformed, "regular expression of " + std::to_string(pattern.size())
                                    + " bytes, allowed are at most "
                                    + std::to_string(pattern_bytes_max)};
  int code = 0;
  PCRE2_SIZE offset = 0;
  auto out = std::make_unique<compiled>();
  out->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &code, &offset,
                                nullptr));
  if (out->code == nullptr)
    return error{errc::malformed,
                 "regular expression: " + message_of(code) + " at byte " + std::to_string(offset)};
  // Without a JIT on this machine the interpreter gives the same matches, slower.
  (void)pcre2_jit_compile(out->code.get(), PCRE2_JIT_COMPLETE);
  return text_pattern{std::move(out)};
}

result<void> text_pattern::find_all(std::string_view text, std::vector<text_range>& out) const {
  const std::unique_ptr<pcre2_match_data, free_data> data{pcre2_match_data_create(1, nullptr)};
  const std::unique_ptr<pcre2_match_context, free_context> context{
    pcre2_match_context_create(nullptr)};
  PS_CHECK(data != nullptr && context != nullptr);
  const size_t steps = steps_base + steps_per_byte * text.size();
  pcre2_set_match_limit(context.get(), static_cast<uint32_t>(std::min<size_t>(steps, UINT32_MAX)));
  pcre2_set_heap_limit(context.get(), match_heap_kib_max);
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t last_end = 0;
  bool matched_before = false;
  for (size_t at = 0; at <= text.size();) {
    const int found = pcre2_match(code_->code.get(), subject, text.size(), at, PCRE2_NO_UTF_CHECK,
                                  data.get(), context.get());
    if (found == PCRE2_ERROR_NOMATCH)
      break;
    if (found < 0)
      return error{errc::invalid_argument,
                   "the tokenizer's regular expression gave up on the text after byte "
                     + std::to_string(at) + ": " + message_of(found)};
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data.get());
    const text_range match{ends[0], ends[1]};
    if (match.end > match.begin) {
      out.push_back(match);
      at = match.end;
    } else {
      // An empty match right behind the last one splits nothing; then go on one character later.
      if (!matched_before || match.begin != last_end)
        out.push_back(match);
      at = match.end + (match.end < text.size() ? utf8_length_of(text[match.end]) : 1);
    }
    last_end = match.end;
    matched_before = true;
  }
  return {};
}

std::string quoted_pattern(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')
                          || static_cast<unsigned char>(c) >= 0x80;
    if (!is_plain)
      out += '\\';
    out += c;
  }
  return out;
}

} // namespace penstock::model
