// SPDX-License-Identifier: Apache-2.0
// What a test puts between the library and libfabric, whose objects are made by functions that the
// one before points to.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>

namespace penstock::ofi {

struct Layer {
  virtual ~Layer() = default;
  // In place of fi_getinfo(), which is `ask`.
  using Ask = decltype(&fi_getinfo);
  virtual int list(Ask ask, std::uint32_t version, const fi_info* hints, fi_info** list) {
    return ask(version, nullptr, nullptr, 0, hints, list);
  }
  virtual void stand_before(fid_fabric& fabric) = 0;  // which has been opened
};

// Of this program; null: none.
extern Layer* layer;

}  // namespace penstock::ofi
