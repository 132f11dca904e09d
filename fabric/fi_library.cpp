#include "fabric/fi_library.hpp"

#include "fabric/signals.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace penstock::fabric {

namespace {

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

} // namespace

result<fi_library> fi_library::load(const std::string& file) {
  kept_signals kept;
  ::setenv("IPATH_NO_BACKTRACE", "1", 1); // libinfinipath, and children that load it: no handlers.
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return error{errc::unsupported,
                 "libfabric cannot be loaded (" + std::string{why != nullptr ? why : file}
                   + "); install libfabric1, or use transport \"mapped\" on one host"};
  }
  fi_library out;
  if (!find(library, "fi_getinfo", out.getinfo) || !find(library, "fi_freeinfo", out.freeinfo)
      || !find(library, "fi_dupinfo", out.dupinfo) || !find(library, "fi_fabric", out.fabric))
    return error{errc::unsupported, file + " is not libfabric 1.x: it lacks an entry point"};
  return out;
}

} // namespace penstock::fabric
