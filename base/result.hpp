// Outcome of an operation that can fail: a value or an error, never both.
#pragma once

#include "base/check.hpp"
#include "base/errc.hpp"

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace penstock {

struct error {
  errc code = errc::ok;
  std::string detail; ///< What, where, what to do. Never user text.

  /// @returns "code: detail", for people.
  [[nodiscard]] std::string text() const {
    std::string out{name_of(code)};
    return detail.empty() ? out : out + ": " + detail;
  }
};

template <class T>
class [[nodiscard]] result {
public:
  result(T value) : data_(std::in_place_index<0>, std::move(value)) {}
  result(error e) : data_(std::in_place_index<1>, std::move(e)) {
    PS_CHECK(std::get<1>(data_).code != errc::ok);
  }

  explicit operator bool() const noexcept { return data_.index() == 0; }

  T& operator*() & {
    PS_CHECK(data_.index() == 0);
    return std::get<0>(data_);
  }
  const T& operator*() const& {
    PS_CHECK(data_.index() == 0);
    return std::get<0>(data_);
  }
  T&& operator*() && {
    PS_CHECK(data_.index() == 0);
    return std::move(std::get<0>(data_));
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  [[nodiscard]] const penstock::error& err() const {
    PS_CHECK(data_.index() == 1);
    return std::get<1>(data_);
  }

private:
  std::variant<T, penstock::error> data_;
};

/// Success carries nothing: `return {};` or `return error{...};`.
template <>
class [[nodiscard]] result<void> {
public:
  result() = default;
  result(error e) : error_(std::move(e)) { PS_CHECK(error_->code != errc::ok); }

  explicit operator bool() const noexcept { return !error_.has_value(); }
  [[nodiscard]] const penstock::error& err() const {
    PS_CHECK(error_.has_value());
    return *error_;
  }

private:
  std::optional<penstock::error> error_;
};

} // namespace penstock
