// SPDX-License-Identifier: Apache-2.0
// Which of libfabric's providers carries messages: one that defers work until a counter reaches a threshold.
#pragma once

#include <rdma/fabric.h>

#include <memory>

#include "base/settings.hpp"

namespace penstock::transport::ofi {

struct FreeInfo {
  void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using FabricInfo = std::unique_ptr<fi_info, FreeInfo>;

// What every provider is asked for.
FabricInfo make_hints();

// The first that serves. Throws base::Error(transport) that says why none does.
FabricInfo choose_provider(const base::Settings& settings);

}  // namespace penstock::transport::ofi
