// One line per event on stderr: `level name key=value ...`. Never user text, never secrets.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

namespace penstock::log {

enum class level : uint8_t { error, warn, info, debug };

/// One `key=value`. Values with spaces are quoted.
struct field {
  template <class T>
  field(std::string_view k, const T& v) : key(k), value(to_text(v)) {}

  std::string_view key;
  std::string value;

private:
  template <class T>
  static std::string to_text(const T& v) {
    if constexpr (std::is_same_v<T, bool>)
      return v ? "true" : "false";
    else if constexpr (std::is_arithmetic_v<T>)
      return std::to_string(v);
    else
      return std::string{std::string_view{v}};
  }
};

/// Lines less urgent than `least` are dropped. Default info. Any thread.
void set_level(level least) noexcept;
/// Put before every line, e.g. the node's name. Call before threads start.
void set_prefix(std::string_view prefix);

/// Writes one line in one write(2), so that processes sharing a terminal do not interleave.
void write(level l, std::string_view event, std::initializer_list<field> fields);

inline void error(std::string_view e, std::initializer_list<field> f = {}) {
  write(level::error, e, f);
}
inline void warn(std::string_view e, std::initializer_list<field> f = {}) {
  write(level::warn, e, f);
}
inline void info(std::string_view e, std::initializer_list<field> f = {}) {
  write(level::info, e, f);
}
inline void debug(std::string_view e, std::initializer_list<field> f = {}) {
  write(level::debug, e, f);
}

} // namespace penstock::log
