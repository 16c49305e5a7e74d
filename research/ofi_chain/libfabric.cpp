// SPDX-License-Identifier: Apache-2.0
#include "libfabric.hpp"

#include <dlfcn.h>

#include <type_traits>

namespace penstock::bench {
namespace {

Libfabric load() {
  Libfabric functions;
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen(PENSTOCK_LIBFABRIC, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return functions;
  const auto find = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  find("fi_getinfo", functions.getinfo);
  find("fi_freeinfo", functions.freeinfo);
  find("fi_dupinfo", functions.dupinfo);
  find("fi_fabric", functions.fabric);
  find("fi_strerror", functions.strerror);
  return functions;
}

}  // namespace

const Libfabric& libfabric() {
  static const Libfabric loaded = load();
  return loaded;
}

}  // namespace penstock::bench
