// Reads a source's memory over any libfabric provider with remote reads; tcp;ofi_rxm by default.
//
// Source: one endpoint and one registration of the whole memory, read-only, for life. Reader: an
// endpoint per region. One progress thread drives all of it. See fi_reader for what happens on an
// error: the region is broken, and the owner opens the source again. Regions must go before their
// transport. No libfabric type appears here.
#pragma once

#include "fabric/transport.hpp"

#include <string>

namespace penstock::fabric {

struct libfabric_options {
  std::string provider = "tcp;ofi_rxm";   ///< As `fi_info` names it.
  std::string bind_address = "127.0.0.1"; ///< This host's address that peers can reach; numeric.
  /// Per region, > 0. Half of them are with the provider, half wait, so that the progress thread
  /// need not wait for the owner to post more.
  size_t reads_in_flight_max = 32;
  int connect_timeout_ms = 2000; ///< > 0. Also how long a provider may refuse a post.
};

class libfabric_transport final : public transport {
public:
  /// @returns errc::unsupported if the provider is missing or lacks something, naming it and those
  ///   that would do; errc::io_failed.
  [[nodiscard]] static result<std::unique_ptr<transport>> create(const libfabric_options& options);
  ~libfabric_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return options_.provider; }
  [[nodiscard]] result<descriptor> serve(std::span<std::byte> memory) override;
  /// Connects and reads one byte, so that a source that is gone, stalled or of another start is
  /// known here. @returns errc::malformed, errc::incompatible for another provider's descriptor,
  ///   errc::peer_lost if the source does not answer in time or refuses the key.
  [[nodiscard]] result<std::unique_ptr<remote_region>> open(std::span<const std::byte> from,
                                                            done_handler on_done) override;
  [[nodiscard]] result<void> register_destination(std::span<std::byte> memory) override;

private:
  struct state;
  libfabric_transport(libfabric_options options, std::unique_ptr<state> opened);

  libfabric_options options_;
  std::unique_ptr<state> state_;
};

} // namespace penstock::fabric
