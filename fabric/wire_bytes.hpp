// Little-endian numbers and short byte strings in and out of descriptors. Knows no descriptor.
//
// The reader never reads past its input: after the first short read everything it returns is zero
// or empty and ok() is false, so that a parser checks once, at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::fabric {

class byte_writer {
public:
  /// Appends the `bytes` low bytes of `value`. @param bytes In [1, 8].
  void number(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
      out_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  /// Appends a two-byte length and the bytes. @pre At most 65535 bytes.
  void string(std::span<const std::byte> bytes) {
    number(bytes.size(), 2);
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void string(std::string_view text) { string(std::as_bytes(std::span{text})); }

  [[nodiscard]] std::vector<std::byte> take() && { return std::move(out_); }

private:
  std::vector<std::byte> out_;
};

class byte_reader {
public:
  explicit byte_reader(std::span<const std::byte> in) : in_(in) {}

  /// @param bytes In [1, 8].
  uint64_t number(size_t bytes) {
    auto taken = take(bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < taken.size(); ++i)
      value |= std::to_integer<uint64_t>(taken[i]) << (8 * i);
    return value;
  }
  /// Reads what byte_writer::string wrote. Borrows from the input.
  std::span<const std::byte> bytes() { return take(static_cast<size_t>(number(2))); }
  std::string text() {
    auto raw = bytes();
    return {reinterpret_cast<const char*>(raw.data()), raw.size()};
  }

  [[nodiscard]] bool ok() const noexcept { return ok_; }
  /// @returns True if everything was there and nothing is left over.
  [[nodiscard]] bool done() const noexcept { return ok_ && in_.empty(); }

private:
  std::span<const std::byte> take(size_t count) {
    if (!ok_ || count > in_.size()) {
      ok_ = false;
      return {};
    }
    auto taken = in_.first(count);
    in_ = in_.subspan(count);
    return taken;
  }

  std::span<const std::byte> in_;
  bool ok_ = true;
};

} // namespace penstock::fabric
