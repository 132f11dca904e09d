#include "fabric/host_identity.hpp"

#include "base/check.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace penstock::fabric {

digest128 host_identity() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  std::array<char, 128> network{};
  auto length = readlink("/proc/self/ns/net", network.data(), network.size());
  if (boot.empty() || length <= 0)
    return {};
  std::string all = boot + '\n' + std::string(network.data(), static_cast<size_t>(length)) + '\n'
                    + std::to_string(geteuid());
  return digest128_of(all);
}

digest128 random_key() {
  digest128 key;
  auto got = getrandom(&key, sizeof key, 0); // Up to 256 bytes come whole or not at all.
  PS_CHECK(got == static_cast<ssize_t>(sizeof key));
  return key;
}

} // namespace penstock::fabric
