// SPDX-License-Identifier: Apache-2.0
// libfabric is loaded when it is first wanted, and not with this library: loading it takes a fifth
// of a second where its providers look for network cards, which programs that use none of it should
// not pay. Most of libfabric is called through the tables of its own objects; these are its
// functions that are symbols.
#pragma once

#include <rdma/fabric.h>

namespace penstock::ofi {

struct Libfabric {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;
};

// The first call loads it. Throws base::Error(transport) where it cannot be loaded, each time.
const Libfabric& libfabric();

// A part of that, which comes first: sets what providers read of the environment. What the user has
// set stays.
void prepare_environment();

}  // namespace penstock::ofi
