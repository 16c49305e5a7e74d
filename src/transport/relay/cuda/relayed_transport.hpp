// SPDX-License-Identifier: Apache-2.0
// A host transport that serves CUDA memory and CUDA streams too.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "transport/transport.hpp"

namespace penstock::transport::cuda {
class Gpus;
}

namespace penstock::transport::relay {

class Relay;

namespace cuda {

// `gpus` and `relay` are shared by all. The name and the choice among transports are the host transport's own.
std::unique_ptr<Transport> relayed(std::unique_ptr<Transport> host, std::shared_ptr<transport::cuda::Gpus> gpus,
                                   std::shared_ptr<Relay> relay);

}  // namespace cuda
}  // namespace penstock::transport::relay
