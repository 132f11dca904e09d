// libfabric's handles as owners, and its error numbers as ours. Decides nothing.
#pragma once

#include "base/result.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <cstring>
#include <memory>
#include <string>

namespace penstock::fabric {

struct fi_closer {
  template <class Fid>
  void operator()(Fid* handle) const noexcept {
    fi_close(&handle->fid);
  }
};
struct fi_info_freer {
  void (*freeinfo)(fi_info*) = nullptr; ///< The library's.
  void operator()(fi_info* info) const noexcept { freeinfo(info); }
};

template <class Fid>
using fi_owner = std::unique_ptr<Fid, fi_closer>;
using fi_info_owner = std::unique_ptr<fi_info, fi_info_freer>;

/// The system's numbers are the system's words; libfabric's own begin at FI_ERRNO_OFFSET.
[[nodiscard]] inline std::string fi_error_text(int number) {
  return number < FI_ERRNO_OFFSET ? std::string{std::strerror(number)}
                                  : "error " + std::to_string(number) + " of rdma/fi_errno.h";
}

/// @param status What a fi_* call returned, negative. @param doing What was tried.
[[nodiscard]] inline error fi_error(ssize_t status, const std::string& doing) {
  auto number = static_cast<int>(-status);
  bool lost = number == FI_ENOTCONN || number == FI_ECONNREFUSED || number == FI_ECONNRESET
              || number == FI_ECONNABORTED || number == FI_ECANCELED || number == FI_EHOSTUNREACH
              || number == FI_ENETUNREACH || number == FI_ESHUTDOWN;
  return {lost ? errc::peer_lost : errc::transfer_failed,
          "libfabric, " + doing + ": " + fi_error_text(number)};
}

} // namespace penstock::fabric
