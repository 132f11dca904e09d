// A message between roles as bytes: immutable, reference-counted, flat.
//
// The same words within a process, where a copy is a reference count, and between nodes, where they
// travel unchanged. What they mean is in cluster_messages.hpp. decode() is the one place that
// checks foreign bytes: what it returns is in range, consistent and bounded. No actor and no
// kj type here.
#pragma once

#include "base/limits.hpp"
#include "base/result.hpp"
#include "schema/cluster_messages.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace penstock::schema {

class message {
public:
  /// Empty; decodes to errc::malformed.
  message() = default;

  /// Copies bytes from outside; says nothing about their meaning.
  /// @param bytes At most limits::message_bytes_max, a multiple of 8; may be empty.
  /// @returns errc::malformed for any other size.
  static result<message> from_bytes(std::span<const std::byte> bytes);

  /// What travels. Valid as long as any copy of this message lives.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return std::as_bytes(std::span{words_.get(), count_});
  }
  [[nodiscard]] size_t size_bytes() const noexcept { return count_ * sizeof(uint64_t); }

private:
  friend message encode(const header& h, const body& b);
  message(std::shared_ptr<const uint64_t[]> words, size_t count)
    : words_(std::move(words)), count_(count) {}

  std::shared_ptr<const uint64_t[]> words_; // Shared: one message, many mailboxes.
  size_t count_ = 0;
};

/// Longest lists and strings decode() accepts, beside those of base/limits.hpp.
namespace message_limits {

inline constexpr size_t name_bytes_max = 256;         ///< Names, ids, versions, digests in hex.
inline constexpr size_t detail_bytes_max = 4096;      ///< encode() cuts longer details.
inline constexpr size_t kv_geometry_bytes_max = 4096; ///< Opaque here.
inline constexpr size_t kv_source_bytes_max = 65536;  ///< Opaque here.
inline constexpr size_t avoid_max = 1024;             ///< Nodes in `place::avoid`.
inline constexpr size_t end_ids_max = 1024;           ///< Ids in `book::end_ids`.
inline constexpr size_t cache_scope_bytes_max = 256;  ///< Of `book` and `prefill`.
inline constexpr size_t rows_max = 4096;              ///< Rows in `tokens`.
inline constexpr size_t roles_max = 3;                ///< Gateway, prefill, decode.
inline constexpr size_t blocks_max                    ///< Blocks in `published`.
  = penstock::limits::context_tokens_max / penstock::limits::block_tokens_multiple;
inline constexpr size_t layers_max = 1024; ///< Digests of one block in `published`.

} // namespace message_limits

/// Writes a message. A body that decode() would refuse is the caller's bug.
[[nodiscard]] message encode(const header& h, const body& b);

/// Reads and checks a message.
/// @returns errc::malformed, saying what is wrong.
[[nodiscard]] result<envelope> decode(const message& m);

/// Reads and checks only the header: cheap, for routing. The body may still be malformed.
/// @returns errc::malformed, saying what is wrong.
[[nodiscard]] result<header> decode_header(const message& m);

} // namespace penstock::schema
