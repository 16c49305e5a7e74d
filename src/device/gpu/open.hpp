// SPDX-License-Identifier: Apache-2.0
// The way into the CUDA device for code that must not see CUDA's headers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/verdict.hpp"
#include "device/gpu.hpp"
#include "device/stream.hpp"

namespace penstock::device::gpu {

base::Verdict usable();          // there is a driver and a device. Starts the driver
std::string describe_devices();  // "2 GPUs, NVIDIA H200"
base::Verdict network_reaches(const void* address, bool written);
void enter(int device) noexcept;  // for a thread without a context
std::vector<Gpu> list_gpus();
std::string current_gpu();  // its PCI address
// Reads the cudaStream_t at `handle`. Throws Error(stream).
std::shared_ptr<device::Stream> open_stream(const void* handle);

}  // namespace penstock::device::gpu
