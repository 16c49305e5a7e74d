// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/fabric.h>

#include <memory>

namespace penstock::ofi {

// What libfabric has opened is closed with its owner.
struct CloseFid {
  template <class T>
  void operator()(T* object) const noexcept {
    fi_close(&object->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

}  // namespace penstock::ofi
