// SPDX-License-Identifier: Apache-2.0
// Pairs whose two buffers lie in memory of GPUs that address each other: one GPU, or several on
// NVLink or PCIe.
#pragma once

#include <memory>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "transport/transport.hpp"

namespace penstock::gpu {
class Gpus;
}

namespace penstock::peer {
class Peer;
}

namespace penstock::peer_gpu {

using gpu::Gpus;

// `host` lends the shared memory that host threads of both ends look at, and outlives the
// transport.
std::unique_ptr<transport::Transport> make_transport(const base::Settings& settings,
                                                     group::World& world, peer::Peer& host,
                                                     std::shared_ptr<gpu::Gpus> gpus);

}  // namespace penstock::peer_gpu
