// One file, mapped read-only into memory, for as long as the object lives.
//
// Does not look inside. A file that another process shortens while it is mapped kills this one
// (SIGBUS): models are replaced by renaming, never by rewriting in place.
#pragma once

#include "base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <span>

namespace penstock::model {

class mapped_file {
public:
  /// @param size_bytes_max Larger files are refused.
  /// @returns errc::io_failed with the system's text, or errc::malformed if it is too large or not
  ///          a regular file. An empty file is an empty span.
  [[nodiscard]] static result<mapped_file> open(const std::filesystem::path& path,
                                                size_t size_bytes_max);

  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&&) = delete;
  ~mapped_file();

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

private:
  explicit mapped_file(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  std::span<const std::byte> bytes_; // Empty once moved from.
};

} // namespace penstock::model
