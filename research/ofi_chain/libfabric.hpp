// SPDX-License-Identifier: Apache-2.0
// libfabric for the bare chain, loaded when that runs: loading it takes a fifth of a second, which
// no other command should pay.
#pragma once

#include <rdma/fabric.h>

namespace penstock::bench {

// Its functions that are symbols; all others are called through its objects.
struct Libfabric {
  decltype(&fi_getinfo) getinfo = nullptr;
  decltype(&fi_freeinfo) freeinfo = nullptr;
  decltype(&fi_dupinfo) dupinfo = nullptr;
  decltype(&fi_fabric) fabric = nullptr;
  decltype(&fi_strerror) strerror = nullptr;

  bool complete() const { return getinfo && freeinfo && dupinfo && fabric && strerror; }
};

// Not complete where it cannot be loaded.
const Libfabric& libfabric();

}  // namespace penstock::bench
