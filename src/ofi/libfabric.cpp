// SPDX-License-Identifier: Apache-2.0
#include "ofi/libfabric.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace penstock::ofi {

using base::Error;
using base::ErrorKind;

namespace {

// It is never unloaded, since providers leave threads and handlers behind.
void* open_library() {
  // First where the dynamic linker looks, then where the build found it.
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const std::string why = dlerror();
  library = dlopen(PENSTOCK_LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  throw Error(ErrorKind::transport, "ofi: libfabric cannot be loaded (" + why +
                                        "): install it, or name its folder in LD_LIBRARY_PATH");
}

// What stands before libfabric in the whole program counts, as it would if the linker had joined
// us.
template <class Function>
void find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(RTLD_DEFAULT, name);
  if (symbol == nullptr) symbol = dlsym(library, name);
  if (symbol == nullptr)
    throw Error(ErrorKind::transport,
                std::string("ofi: the libfabric that has been loaded lacks ") + name);
  function = reinterpret_cast<Function>(symbol);
}

Libfabric load() {
  prepare_environment();
  void* const library = open_library();
  Libfabric functions;
  find(library, "fi_getinfo", functions.getinfo);
  find(library, "fi_freeinfo", functions.freeinfo);
  find(library, "fi_dupinfo", functions.dupinfo);
  find(library, "fi_fabric", functions.fabric);
  find(library, "fi_strerror", functions.strerror);
  return functions;
}

}  // namespace

void prepare_environment() {
  setenv("FI_SOCKETS_PE_WAITTIME", "0",
         0);  // otherwise it sleeps for milliseconds between two polls
  // Who sends to a host for the first time stands still until that answers, and everything else
  // with it: 15 s unless told otherwise. What is not connected by then is connected when the host
  // answers.
  setenv("FI_SOCKETS_CONN_TIMEOUT", "100", 0);  // ms
  // Otherwise a library that some builds load takes SIGSEGV.
  setenv("HFI_NO_BACKTRACE", "1", 0);
  setenv("IPATH_NO_BACKTRACE", "1", 0);
}

const Libfabric& libfabric() {
  static const Libfabric loaded = load();
  return loaded;
}

}  // namespace penstock::ofi
