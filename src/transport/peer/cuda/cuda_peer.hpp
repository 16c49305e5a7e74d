// SPDX-License-Identifier: Apache-2.0
// Pairs whose two buffers lie in memory of GPUs that address each other: one GPU, or several on NVLink or PCIe.
#pragma once

#include <memory>

#include "base/settings.hpp"
#include "group/world.hpp"
#include "transport/transport.hpp"

namespace penstock::transport::cuda {
class Gpus;
}

namespace penstock::transport::peer {

class Peer;

namespace cuda {

// `host` lends the shared memory that host threads of both ends look at, and outlives the transport.
std::unique_ptr<Transport> make_transport(const base::Settings& settings, group::World& world, Peer& host,
                                          std::shared_ptr<transport::cuda::Gpus> gpus);

}  // namespace cuda
}  // namespace penstock::transport::peer
