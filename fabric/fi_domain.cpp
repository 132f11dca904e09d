#include "fabric/fi_domain.hpp"

#include "fabric/fi_library.hpp"
#include "fabric/host_identity.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace penstock::fabric {

namespace {

constexpr auto api_version = FI_VERSION(1, 17);

/// @returns An empty description, as fi_allocinfo() does.
fi_info_owner allocated(const fi_library& library) {
  fi_info_owner out{library.dupinfo(nullptr), {library.freeinfo}};
  PS_CHECK(out != nullptr);
  return out;
}

/// What we cannot do without: reads from a connectionless, reliable endpoint.
fi_info_owner wanted(const fi_library& library, const std::string& provider) {
  auto hints = allocated(library);
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  if (!provider.empty())
    hints->fabric_attr->prov_name = ::strdup(provider.c_str()); // fi_freeinfo frees it.
  return hints;
}

fi_info_owner ask(const fi_library& library, const fi_info* hints, const char* node, int& status) {
  fi_info* found = nullptr;
  uint64_t flags = node != nullptr ? FI_SOURCE : 0;
  status = library.getinfo(api_version, node, nullptr, flags, hints, &found);
  return {status == 0 ? found : nullptr, {library.freeinfo}};
}

std::string names(const fi_info* list) {
  std::set<std::string> seen;
  for (; list != nullptr; list = list->next)
    seen.insert(list->fabric_attr->prov_name);
  std::string out;
  for (const auto& name : seen)
    out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

error explain(const fi_library& library, const std::string& provider,
              const std::string& bind_address, int status) {
  int ignored = 0;
  auto would_do
    = names(ask(library, wanted(library, "").get(), bind_address.c_str(), ignored).get());
  auto bare = allocated(library);
  bare->fabric_attr->prov_name = ::strdup(provider.c_str());
  bare->mode = ~0ULL;
  bare->domain_attr->mode = ~0ULL;
  bare->domain_attr->mr_mode = ~3; // All bits but the two of the old basic and scalable modes.
  bool exists = ask(library, bare.get(), nullptr, ignored) != nullptr;
  bool here = ask(library, wanted(library, provider).get(), nullptr, ignored) != nullptr;
  std::string why = !exists ? "is not there (no such provider, or no such hardware)"
                    : !here ? "lacks reliable datagram endpoints with remote reads (FI_EP_RDM, "
                              "FI_RMA)"
                            : "has no address " + bind_address;
  return {errc::unsupported, "libfabric provider \"" + provider + "\" " + why + " ["
                               + fi_error_text(-status) + "]; at " + bind_address
                               + " these would do: " + would_do};
}

} // namespace

result<std::unique_ptr<fi_domain_owner>> fi_domain_owner::open(const std::string& provider,
                                                               const std::string& bind_address) {
  auto library = fi_library::load();
  if (!library)
    return library.err();
  std::unique_ptr<fi_domain_owner> out{new fi_domain_owner};
  int status = 0;
  out->info_ = ask(*library, wanted(*library, provider).get(), bind_address.c_str(), status);
  if (out->info_ == nullptr)
    return explain(*library, provider, bind_address, status);
  fid_fabric* fabric = nullptr;
  if (status = library->fabric(out->info_->fabric_attr, &fabric, nullptr); status != 0)
    return fi_error(status, "opening provider \"" + provider + '"');
  out->fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (status = fi_domain(fabric, out->info_.get(), &domain, nullptr); status != 0)
    return fi_error(status, "opening a domain of \"" + provider + '"');
  out->domain_.reset(domain);
  // Some providers find out only now whether the address is one of this host's.
  if (auto end = out->make_end(1); !end)
    return error{errc::unsupported, "libfabric provider \"" + provider + "\" at " + bind_address
                                      + " (is it this host's?): " + end.err().detail};
  return out;
}

result<fi_end> fi_domain_owner::make_end(size_t reads_max) const {
  fi_end end;
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_CONTEXT;
  queue.size = std::max<size_t>(64, 2 * reads_max);
  queue.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  if (int status = fi_cq_open(domain_.get(), &queue, &completions, nullptr); status != 0) {
    auto failed = fi_error(status, "a completion queue with a wait descriptor");
    failed.code = errc::unsupported;
    return failed;
  }
  end.completions.reset(completions);
  if (int status = fi_control(&completions->fid, FI_GETWAIT, &end.wait_fd); status != 0)
    return fi_error(status, "asking for the wait descriptor");
  fi_av_attr table{};
  table.type = FI_AV_UNSPEC;
  fid_av* addresses = nullptr;
  if (int status = fi_av_open(domain_.get(), &table, &addresses, nullptr); status != 0)
    return fi_error(status, "an address table");
  end.addresses.reset(addresses);
  fid_ep* endpoint = nullptr;
  if (int status = fi_endpoint(domain_.get(), info_.get(), &endpoint, nullptr); status != 0)
    return fi_error(status, "an endpoint");
  end.endpoint.reset(endpoint);
  int status = fi_ep_bind(endpoint, &addresses->fid, 0);
  if (status == 0)
    status = fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV);
  if (status == 0)
    status = fi_enable(endpoint);
  if (status != 0)
    return fi_error(status, "enabling an endpoint");
  return end;
}

result<fi_owner<fid_mr>> fi_domain_owner::register_memory(std::span<std::byte> memory,
                                                          uint64_t access) const {
  // A key nobody can guess or keep: a reader of an earlier start at this address is refused. A
  // provider with FI_MR_PROV_KEY draws its own.
  auto key_bits = std::min<size_t>(64, 8 * info_->domain_attr->mr_key_size);
  uint64_t key = random_key().low >> (64 - std::max<size_t>(1, key_bits));
  fid_mr* registration = nullptr;
  int status = fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0,
                         &registration, nullptr);
  if (status != 0)
    return fi_error(status, "registering " + std::to_string(memory.size()) + " bytes");
  return fi_owner<fid_mr>{registration};
}

result<std::vector<std::byte>> address_of(const fi_end& end) {
  std::vector<std::byte> address(256);
  size_t size = address.size();
  if (int status = fi_getname(&end.endpoint->fid, address.data(), &size); status != 0)
    return fi_error(status, "asking for the endpoint's address");
  address.resize(size);
  return address;
}

} // namespace penstock::fabric
