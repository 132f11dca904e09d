// Reads a source's memory on the same host by mapping it read-only. No system call per read.
//
// A read is a memcpy on the transport's one copy thread. The mapping outlives the source, so a read
// cannot fault; but a source that has died will not publish, so the region is then broken: reads
// end with errc::peer_lost. Regions must go before their transport. See mapped_server for how a
// reader gets in, shared_memory for why it cannot write and cannot get SIGBUS.
#pragma once

#include "fabric/copy_thread.hpp"
#include "fabric/mapped_server.hpp"
#include "fabric/shared_memory.hpp"
#include "fabric/transport.hpp"

namespace penstock::fabric {

struct mapped_options {
  const shared_memory* memory = nullptr; ///< What serve() offers; sealed; outlives the transport.
  size_t reads_in_flight_max = 64;       ///< Over all regions, > 0.
  int connect_timeout_ms = 2000;         ///< > 0.
};

class mapped_transport final : public transport {
public:
  explicit mapped_transport(const mapped_options& options);
  ~mapped_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return "mapped"; }
  /// @param memory Exactly options.memory->bytes().
  /// @returns errc::invalid_argument if there is none, or it is not sealed.
  [[nodiscard]] result<descriptor> serve(std::span<std::byte> memory) override;
  /// @returns errc::malformed, errc::incompatible, errc::peer_lost if the source is gone or does
  ///   not accept the key, or errc::io_failed.
  [[nodiscard]] result<std::unique_ptr<remote_region>> open(std::span<const std::byte> from,
                                                            done_handler on_done) override;
  [[nodiscard]] result<void> register_destination(std::span<std::byte>) override { return {}; }

private:
  mapped_options options_;
  copy_thread copies_;
  std::unique_ptr<mapped_server> server_;
};

} // namespace penstock::fabric
