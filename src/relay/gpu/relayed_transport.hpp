// SPDX-License-Identifier: Apache-2.0
// A host transport that serves CUDA memory and CUDA streams too.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace penstock::gpu {
class Gpus;
}

namespace penstock::relay {

class Relay;

// `gpus` and `relay` are shared by all. The name and the choice among transports are the host
// transport's own.
std::unique_ptr<transport::Transport> relayed(std::unique_ptr<transport::Transport> host,
                                              std::shared_ptr<gpu::Gpus> gpus,
                                              std::shared_ptr<Relay> relay);

}  // namespace penstock::relay
