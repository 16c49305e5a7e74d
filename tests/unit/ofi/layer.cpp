// SPDX-License-Identifier: Apache-2.0
// Two functions take the place of libfabric's own for the whole program.
#include "unit/ofi/layer.hpp"

#include <dlfcn.h>

namespace penstock::ofi {

Layer* layer = nullptr;

namespace {

template <class Function>
Function own(const char* name) {
  static void* const libfabric = dlopen("libfabric.so.1", RTLD_NOW);
  return reinterpret_cast<Function>(dlsym(libfabric, name));
}

}  // namespace

extern "C" int fi_getinfo(std::uint32_t version, const char* node, const char* service,
                          std::uint64_t flags, const fi_info* hints, fi_info** list) {
  static const auto next = own<Layer::Ask>("fi_getinfo");
  const bool ours =
      node == nullptr && service == nullptr && flags == 0;  // libfabric may ask itself
  return layer != nullptr && ours ? layer->list(next, version, hints, list)
                                  : next(version, node, service, flags, hints, list);
}

extern "C" int fi_fabric(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) {
  static const auto next = own<decltype(&fi_fabric)>("fi_fabric");
  const int code = next(attributes, fabric, context);
  if (code == 0 && layer != nullptr) layer->stand_before(**fabric);
  return code;
}

}  // namespace penstock::ofi
