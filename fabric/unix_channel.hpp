// Unix sockets with abstract names, and file descriptors sent over them. Knows no protocol.
//
// An abstract name lives in the network namespace and goes with its last socket: nothing is left on
// disk, whatever happens. It is visible to everyone on the host, so it is no secret. Sockets are
// SOCK_SEQPACKET: one send is one receive.
#pragma once

#include "base/result.hpp"
#include "fabric/unique_fd.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace penstock::fabric {

/// @param name Without the leading zero byte, at most 100 bytes.
/// @returns A non-blocking listening socket, or errc::io_failed.
[[nodiscard]] result<unique_fd> listen_abstract(const std::string& name);

/// Connects, and makes sure that the other side runs as the same user.
/// @param timeout_ms For this call and for each later receive, > 0.
/// @returns errc::peer_lost if nobody listens, errc::io_failed, or errc::incompatible if the other
///   side is another user.
[[nodiscard]] result<unique_fd> connect_abstract(const std::string& name, int timeout_ms);

/// @returns True if the process at the other end had our effective user id when it connected (or
///   listened), as the kernel saw it.
[[nodiscard]] bool peer_is_same_user(int socket) noexcept;

/// Sends one packet, with a descriptor if `fd` is not negative. Never raises SIGPIPE.
[[nodiscard]] bool send_packet(int socket, std::span<const std::byte> bytes, int fd = -1) noexcept;

struct packet {
  size_t size_bytes = 0; ///< 0: closed by the peer, timed out, or failed.
  unique_fd fd;          ///< If one came along.
};

/// Receives one packet; what does not fit is cut off. Waits as the socket is set up to.
[[nodiscard]] packet receive_packet(int socket, std::span<std::byte> into) noexcept;

/// @returns True if the other end has been closed, e.g. by its process's death. Does not block.
[[nodiscard]] bool is_closed_by_peer(int socket) noexcept;

} // namespace penstock::fabric
