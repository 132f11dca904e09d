// One libfabric provider, opened: fabric, domain, and what must be known about its memory keys.
//
// Also the endpoints made in it. No threads; calls come from one thread at a time.
#pragma once

#include "fabric/fi_handles.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock::fabric {

/// An endpoint with a completion queue and an address table of its own, so that closing it touches
/// nobody else's. Members close in the right order: endpoint first.
struct fi_end {
  fi_owner<fid_cq> completions;
  fi_owner<fid_av> addresses;
  fi_owner<fid_ep> endpoint;
  int wait_fd = -1; ///< Readable when `completions` may have something; the queue's own.
};

class fi_domain_owner {
public:
  /// @param provider As fi_getinfo names it. @param bind_address This host's, numeric.
  /// @returns errc::unsupported, naming what is missing and which providers would do.
  [[nodiscard]] static result<std::unique_ptr<fi_domain_owner>>
  open(const std::string& provider, const std::string& bind_address);

  /// @param reads_max Operations in flight at once.
  [[nodiscard]] result<fi_end> make_end(size_t reads_max) const;

  /// Registers memory for reads from outside, or as the place reads land in.
  [[nodiscard]] result<fi_owner<fid_mr>> register_memory(std::span<std::byte> memory,
                                                         uint64_t access) const;

  [[nodiscard]] fid_fabric* fabric() const noexcept { return fabric_.get(); }
  /// True: fi_read takes addresses of the source's process; false: offsets from its memory's start.
  [[nodiscard]] bool reads_by_address() const noexcept { return has(FI_MR_VIRT_ADDR); }
  /// True: memory that reads land in must be registered too.
  [[nodiscard]] bool wants_local_keys() const noexcept { return has(FI_MR_LOCAL); }
  [[nodiscard]] size_t read_bytes_max() const noexcept { return info_->ep_attr->max_msg_size; }
  [[nodiscard]] size_t reads_max() const noexcept { return info_->tx_attr->size; }

private:
  fi_domain_owner() = default;
  [[nodiscard]] bool has(int mode) const noexcept {
    return (info_->domain_attr->mr_mode & mode) != 0;
  }

  fi_info_owner info_;
  fi_owner<fid_fabric> fabric_;
  fi_owner<fid_domain> domain_;
};

/// @returns The address at which others reach an endpoint.
[[nodiscard]] result<std::vector<std::byte>> address_of(const fi_end& end);

} // namespace penstock::fabric
