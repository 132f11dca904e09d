#include "fabric/make_transport.hpp"

#include "fabric/libfabric_transport.hpp"
#include "fabric/mapped_transport.hpp"

namespace penstock::fabric {

result<std::unique_ptr<transport>> make_transport(const std::string& kind,
                                                  const transport_options& options) {
  if (kind == "mapped")
    return std::unique_ptr<transport>{std::make_unique<mapped_transport>(
      mapped_options{options.memory, options.reads_in_flight_max, options.connect_timeout_ms})};
  if (kind.empty() || kind == "auto" || kind == "local")
    return error{errc::unsupported,
                 "\"" + kind
                   + "\" names no transport to build; \"mapped\" or a libfabric provider"};
  return libfabric_transport::create(
    {kind, options.bind_address, options.reads_in_flight_max, options.connect_timeout_ms});
}

} // namespace penstock::fabric
