// SPDX-License-Identifier: Apache-2.0
// Messages by deferred operations of libfabric: released by a counter, completed by a word in
// memory, without a call of the host between start and wait where the network can do that by
// itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/settings.hpp"
#include "device/gpu.hpp"
#include "group/world.hpp"
#include "transport/transport.hpp"

namespace penstock::ofi {

// `needed`, asked at address(): whether any process may need it. Otherwise nothing is opened.
// `for_gpus`: messages may lie in memory of GPUs. Its end, while MPI still works, delivers buffered
// messages first, as MPI_Finalize does.
std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world,
                                                     std::chrono::microseconds spin,
                                                     std::function<bool()> needed,
                                                     bool for_gpus = device::built_for_gpus);

}  // namespace penstock::ofi
