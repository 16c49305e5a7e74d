// SPDX-License-Identifier: Apache-2.0
// Exchanges on a CUDA stream by libraries that are loaded when they are asked for.
#pragma once

#include "device_memory.hpp"
#include "exchange.hpp"

namespace penstock::bench {

// Null, with the reason, where there is no such library, or none that can do this.
std::unique_ptr<Exchange> make_nccl_exchange(const Traffic& traffic, cudaStream_t stream,
                                             std::string& why_not);
std::unique_ptr<Exchange> make_nccl_collective(Kind kind, const Traffic& traffic,
                                               cudaStream_t stream, std::string& why_not);
// `adds`: signals are added to, not set. `graph`: trips are captured.
std::unique_ptr<Exchange> make_nvshmem_exchange(const Traffic& traffic, bool adds, bool graph,
                                                cudaStream_t stream, std::string& why_not);
// When no exchange is left. All ranks call it.
void close_nvshmem();

}  // namespace penstock::bench
